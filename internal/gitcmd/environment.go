package gitcmd

import (
	"fmt"
	"os"
)

// nowhere is a home without configuration, keys or credentials, and the repository of commands that need none. Below
// what is no folder nothing can be made, not even by root. (/dev/null itself will not do: git replaces the file it
// writes, so that a `git config --global` of root turns the device into a file.)
const nowhere = "/dev/null/nowhere"

// environment is everything a git process knows about its surroundings: nothing of ours but the search path, no
// configuration of the machine or of a user, no questions, no hooks, no helpers, and only encrypted protocols.
func environment(caBundle string) []string {
	env := []string{
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
	}
	if caBundle != "" {
		env = append(env, "GIT_SSL_CAINFO="+caBundle)
	}
	return append(env, settings()...)
}

// settings override whatever a repository's own configuration says.
func settings() []string {
	pairs := [][2]string{
		{"core.hooksPath", "/dev/null"},
		{"core.attributesFile", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"credential.helper", ""},
		{"http.followRedirects", "false"}, // a redirect would take the credentials along, past the check of the address
		{"submodule.recurse", "false"},
		{"transfer.fsckObjects", "true"},
		{"gc.auto", "0"}, // would go on after the command ended
		{"maintenance.auto", "false"},
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs))}
	for i, pair := range pairs {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[1]))
	}
	return env
}
