package config_test

import (
	"errors"
	"strings"
	"testing"

	"atelier/internal/config"
)

// Whatever an operator writes, Load returns; its errors are one line per problem and hold no secret.
func FuzzLoad(f *testing.F) {
	f.Add("PORT=1\nATELIER_X=1\nDATABASE_URI=y", "PORT: 1\n", "port", "80")
	f.Add("REQUEST_TIMEOUT=1e9\nREQUEST_MAX_SIZE=1gbgb", "? [a]\n: {b: *c}\n", "config", "atelier.yaml")
	f.Add("TARGET=,\nCORS_ADDITIONAL_ALLOWED_ORIGINS=.", "TRUSTED_PROXIES: [[1]]\n---\n", "", "")
	f.Add("API_URL=http://[::1", "<<: &a {PORT: 1}\nPORT: !!binary x\n", "target", "all,all")
	f.Fuzz(func(t *testing.T, environ, file, flag, value string) {
		const secret = "hunter2-the-secret"
		variables := []string{"ATELIER_CONFIG=atelier.yaml", "DATABASE_URL=" + secret, "INTERNAL_API_KEY=" + secret}
		_, err := config.Load(config.Sources{
			Environ:  append(variables, strings.Split(environ, "\n")...),
			Flags:    map[string]string{flag: value},
			ReadFile: files{"atelier.yaml": file}.read,
			Targets:  services(),
		})
		var problems *config.Problems
		if !errors.As(err, &problems) || len(problems.List) < 2 {
			t.Fatalf("two settings are wrong, but: %v", err)
		}
		if lines := strings.Count(err.Error(), "\n") + 1; lines != len(problems.List) {
			t.Errorf("%d lines for %d problems", lines, len(problems.List))
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("shows a secret: %v", err)
		}
	})
}
