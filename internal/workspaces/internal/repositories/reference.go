package repositories

import (
	"regexp"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/vault"
)

var reference = regexp.MustCompile(`^\s*\{\{\s*secret\.([A-Za-z_][A-Za-z0-9_-]{0,99})\s*\}\}\s*$`) //nolint:gochecknoglobals // compiled once, never changed

// secretName is the secret that a value names; empty when it names none.
func secretName(value string) string {
	if found := reference.FindStringSubmatch(value); found != nil {
		return found[1]
	}
	return ""
}

// isLiteral tells that a value is what it says, and does not name a secret.
func isLiteral(value string) bool { return value != "" && secretName(value) == "" }

// credentials are the keys of auth whose values are secret.
func credentials() []string { return []string{"password", "sshkey"} }

// credential is the value of one of them.
func (r Repository) credential(key string) string {
	if key == "sshkey" {
		return r.SSHKey
	}
	return r.Password
}

// Fill gives the repository the credentials that it names, ready to be used. A secret that does not exist, and credentials
// that have to be entered first, are validation_failed. What the operator configured names no secrets.
func Fill(r Repository, secrets map[string]vault.Secret) (Repository, error) {
	if r.Kind != Git {
		return r, nil
	}
	var wrong []errs.Field
	if !r.Platform {
		wrong = r.replace(secrets)
	}
	if len(wrong) == 0 {
		wrong = r.unusable()
	}
	if len(wrong) > 0 {
		return Repository{}, errs.Invalid(wrong...).With("repositoryId", r.ID)
	}
	return r, nil
}

// replace puts the values of secrets where their names are.
func (r *Repository) replace(secrets map[string]vault.Secret) (wrong []errs.Field) {
	for _, at := range []struct {
		key   string
		value *string
	}{{"user", &r.User}, {"password", &r.Password}, {"sshkey", &r.SSHKey}} {
		name := secretName(*at.value)
		if name == "" {
			continue
		}
		value, known := secrets[name]
		if !known {
			wrong = append(wrong, errs.Field{Field: place(r.ID, "config", "auth", at.key), Message: "there is no secret " + name + " in the workspace; set it, or name another one"})
			continue
		}
		*at.value = value.Reveal()
	}
	return wrong
}

// unusable tells why the credentials, whose secrets are known, cannot open the repository.
func (r Repository) unusable() (wrong []errs.Field) {
	add := func(key, message string) {
		wrong = append(wrong, errs.Field{Field: place(r.ID, "config", "auth", key), Message: message})
	}
	address, err := gitcmd.ParseAddress(r.URL)
	if err != nil {
		return nil // said where the address is used
	}
	keyed := address.Scheme == schemeSSH
	switch {
	case keyed && r.SSHKey == "":
		add("sshkey", "enter the key that opens the repository: none is stored, or the address changed since")
	case !keyed && r.authenticated && r.Password == "":
		add("password", "enter the password or token that opens the repository: none is stored, or the address changed since")
	}
	if message := wrongUser(r.User); message != "" {
		add("user", message)
	}
	if err := gitcmd.CheckPassword(r.Password); err != nil {
		add("password", err.Error())
	}
	if r.SSHKey != "" {
		if err := gitcmd.CheckSSHKey(r.SSHKey); err != nil {
			add("sshkey", err.Error())
		}
	}
	return wrong
}

// longestUser is the longest name of a user that makes sense, in bytes.
const longestUser = 255

func wrongUser(user string) string {
	if len(user) > longestUser || strings.Contains(user, ":") || strings.ContainsFunc(user, isControl) {
		return "use at most 255 characters, without a colon and without line breaks"
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
