package vault_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"atelier/internal/vault"
)

func TestSecretIsNeverShown(t *testing.T) {
	t.Parallel()
	const text = "hunter2-hunter2"
	secret := vault.Secret(text)
	if secret.Reveal() != text {
		t.Error(secret.Reveal())
	}
	held := struct {
		Held vault.Secret
		ByID map[string]vault.Secret
	}{secret, map[string]vault.Secret{"a": secret}}
	var shown strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%20s", "%c", "%U"} {
		fmt.Fprintf(&shown, verb, secret)
		fmt.Fprintf(&shown, verb, &held)
		fmt.Fprintf(&shown, verb, []vault.Secret{secret})
	}
	encoded, err := json.Marshal(held)
	if err != nil || string(encoded) != `{"Held":"***","ByID":{"a":"***"}}` {
		t.Errorf("%s, %v", encoded, err)
	}
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&logged, nil), slog.NewTextHandler(&logged, nil)} {
		slog.New(handler).Info("x", "secret", secret, "held", held, "pointer", &secret, "grouped", slog.GroupValue(slog.Any("secret", secret)))
	}
	for name, text := range map[string]string{"printed": shown.String(), "logged": logged.String()} {
		for _, part := range []string{"hunter", "68756e746572", "68756E746572", "104", "U+0068"} {
			if strings.Contains(text, part) {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	if vault.Secret("").String() != "" {
		t.Error("one that is not set looks as if it were")
	}
}
