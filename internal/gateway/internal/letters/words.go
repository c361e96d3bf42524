package letters

import "strings"

// fallback is the language of people whose own there is no letter in.
const (
	english  = "en"
	french   = "fr"
	german   = "de"
	fallback = english
)

// language is the one to write in: the first part of a language tag when there are letters in it.
func language(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	if _, ok := oneHour()[primary]; ok {
		return primary
	}
	return fallback
}

// kind is one kind of letter, in every language.
type kind struct {
	words   map[string]words
	expires bool
}

// words are what a letter says.
type words struct {
	Subject string
	// Body is why the letter was written.
	Body string
	// Action is what the link does; Address introduces the link written out.
	Action, Address string
	// Otherwise is for people whom the letter surprises.
	Otherwise string
}

func oneHour() map[string]string {
	return map[string]string{
		english: "The link works for one hour, and only once.",
		french:  "Ce lien est valable une heure et ne fonctionne qu’une fois.",
		german:  "Der Link gilt eine Stunde und nur einmal.",
	}
}

const (
	englishAddress = "If the link does not work, copy this address into your browser:"
	frenchAddress  = "Si le lien ne fonctionne pas, copiez cette adresse dans votre navigateur :"
	germanAddress  = "Wenn der Link nicht funktioniert, kopieren Sie diese Adresse in Ihren Browser:"
)
