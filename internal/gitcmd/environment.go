package gitcmd

import (
	"fmt"
	"os"
	"slices"
)

// nowhere is a home without configuration, keys or credentials, and the repository of commands that need none. Below
// what is no folder nothing can be made, not even by root. (/dev/null itself will not do: git replaces the file it
// writes, so that a `git config --global` of root turns the device into a file.)
const nowhere = "/dev/null/nowhere"

// surroundings are what a git process knows: variables and settings, which override what a repository's own
// configuration says.
type surroundings struct {
	variables []string
	settings  []setting
}

type setting struct{ key, value string }

// and adds others; later ones win.
func (s surroundings) and(other surroundings) surroundings {
	return surroundings{
		variables: slices.Concat(s.variables, other.variables),
		settings:  slices.Concat(s.settings, other.settings),
	}
}

// environment is the whole of it as variables: git reads settings from them too.
func (s surroundings) environment() []string {
	env := append(slices.Clone(s.variables), fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(s.settings)))
	for i, setting := range s.settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, setting.key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, setting.value))
	}
	return env
}

// usual is what every git process gets: nothing of ours but the search path, no configuration of the machine or of a user,
// no questions, no hooks, no helpers, and only encrypted protocols.
func usual(caBundle string) surroundings {
	variables := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + nowhere,
		"XDG_CONFIG_HOME=" + nowhere,
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + nowhere,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=https:ssh",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_DEFAULT_REF_FORMAT=files",
		"GIT_ALLOC_LIMIT=512m", // of one piece of memory: an object that claims to be larger ends the command, not the machine
	}
	if caBundle != "" {
		variables = append(variables, "GIT_SSL_CAINFO="+caBundle)
	}
	return surroundings{variables: variables, settings: slices.Concat(usualSettings(), tolerated())}
}

func usualSettings() []setting {
	return []setting{
		{"core.hooksPath", "/dev/null"},
		{"core.attributesFile", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.filesRefLockTimeout", "10000"}, // several may write at once, and none of them takes long
		{"core.packedRefsTimeout", "10000"},
		{"core.bigFileThreshold", "32m"}, // larger ones are not held in memory
		{"pack.windowMemory", "128m"},
		{"credential.helper", ""},
		{"http.followRedirects", "false"}, // a redirect would take the credentials along, past the check of the address
		{"http.sslVerify", "true"},
		{"http.sslVersion", "tlsv1.2"}, // or later
		{"http.proxy", ""},
		{"submodule.recurse", "false"},
		{"transfer.fsckObjects", "true"},
		{"transfer.unpackLimit", "1"}, // what arrives stays a pack: a single file that is there or not
		{"fetch.unpackLimit", "1"},
		{"fastimport.unpackLimit", "0"},
		{"gc.auto", "0"}, // would go on after the command ended
		{"maintenance.auto", "false"},
		{"safe.directory", "*"}, // repositories are named by us; who owns the disk they are on is the operator's choice
	}
}

// flaws are what old programs left in histories which cannot be written anew, and what harms nobody.
func flaws() []string {
	return []string{
		"zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingNameBeforeEmail", "missingEmail",
		"badEmail", "badName", "zeroPaddedDate", "badDateOverflow", "missingTaggerEntry", "badTagName",
	}
}

func tolerated() []setting {
	var settings []setting
	for _, flaw := range flaws() {
		settings = append(settings, setting{"fsck." + flaw, "ignore"}, setting{"fetch.fsck." + flaw, "ignore"})
	}
	return settings
}
