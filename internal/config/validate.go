package config

import (
	"slices"
	"strings"

	"atelier/internal/vault"
)

// rule is a check that the tags of one field cannot express.
type rule struct {
	setting string   // the setting that is to be mended
	reads   []string // further settings that the check looks at
	check   func(Config) string
}

// checkTogether applies the rules. One that looks at a setting without a usable value is passed over: its verdict would
// only repeat that problem in other words.
func (l *loader) checkTogether() {
	for _, r := range slices.Concat(processRules(l.src.Targets), storageRules()) {
		if slices.ContainsFunc(append(r.reads, r.setting), func(name string) bool { return l.failed[name] }) {
			continue
		}
		if problem := r.check(l.config); problem != "" {
			l.failed[r.setting] = true
			l.problems.add(r.setting, problem, l.origins[r.setting].where)
		}
	}
}

func processRules(targets []string) []rule {
	return []rule{
		{setting: "TARGET", check: func(c Config) string { return checkTargets(c.Target, targets) }},
		{setting: "INTERNAL_API_KEY", reads: []string{"TARGET"}, check: func(c Config) string {
			return neededBy(c.SplitServices(), c.InternalAPIKey.Reveal(), "services run in separate processes")
		}},
		{setting: "DATABASE_URL", reads: []string{"TARGET"}, check: func(c Config) string {
			return neededBy(c.SplitServices(), c.DatabaseURL.Reveal(), "services run in separate processes")
		}},
		{setting: "JWKS_KTY", reads: []string{"JWKS_ALG"}, check: func(c Config) string {
			if family := keyFamily(c.JWKSAlg); c.JWKSKty != family {
				return c.JWKSKty + " does not fit JWKS_ALG " + c.JWKSAlg + "; allowed: " + family
			}
			return ""
		}},
		{setting: "SECRETS_MASTER_KEYS", check: func(c Config) string {
			if _, err := vault.ParseKeys(c.SecretsMasterKeys.Reveal()); err != nil {
				return err.Error()
			}
			return ""
		}},
	}
}

func storageRules() []rule {
	needed := func(name string, value func(Config) string) rule {
		return rule{setting: name, reads: []string{"WORKSPACES_STORAGE_TYPE"}, check: func(c Config) string {
			return neededBy(c.StorageType == "S3_LIKE", value(c), "WORKSPACES_STORAGE_TYPE is S3_LIKE")
		}}
	}
	return []rule{
		needed("WORKSPACES_STORAGE_S3_LIKE_ENDPOINT", func(c Config) string { return c.S3Endpoint }),
		needed("WORKSPACES_STORAGE_S3_LIKE_ACCESS_KEY", func(c Config) string { return c.S3AccessKey }),
		needed("WORKSPACES_STORAGE_S3_LIKE_SECRET_KEY", func(c Config) string { return c.S3SecretKey.Reveal() }),
	}
}

// checkTargets accepts all on its own, or known services, each once.
func checkTargets(chosen, targets []string) string {
	known := append([]string{targetAll}, without(targets, targetAll)...)
	for i, name := range chosen {
		switch {
		case !slices.Contains(known, name):
			return quote(name) + " is not a service; allowed: " + strings.Join(known, ", ")
		case slices.Contains(chosen[:i], name):
			return name + " is named twice"
		case name == targetAll && len(chosen) > 1:
			return "all stands for every service; allowed: all alone, or a list without it"
		}
	}
	return ""
}

func without(names []string, unwanted string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == unwanted })
}

func neededBy(condition bool, value, reason string) string {
	if condition && value == "" {
		return "must be set when " + reason
	}
	return ""
}

// keyFamily is the one JWK key type that can make signatures of an algorithm.
func keyFamily(algorithm string) string {
	switch {
	case algorithm == "EdDSA":
		return "OKP"
	case strings.HasPrefix(algorithm, "ES"):
		return "EC"
	default:
		return "RSA"
	}
}
