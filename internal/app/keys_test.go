package app_test

import (
	"testing"
	"time"

	"atelier/internal/app"
	"atelier/internal/config"
)

// ID tokens are valid for an hour, also where access tokens are not: their key is kept as long.
func TestKeysOutliveIDTokens(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{time.Minute: time.Hour, 2 * time.Hour: 2 * time.Hour} {
		if got := app.KeySettings(config.Config{AccessTokensMaxAge: age}).KeepFor; got != want {
			t.Errorf("keys are kept for %v after access tokens of %v, want %v", got, age, want)
		}
	}
}
