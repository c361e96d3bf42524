package vault_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"atelier/internal/vault"
)

func master(id string) vault.MasterKey {
	key := vault.MasterKey{ID: id}
	copy(key.Key[:], strings.Repeat(id, 32))
	return key
}

func open(t *testing.T, keys ...vault.MasterKey) *vault.Vault {
	t.Helper()
	v, err := vault.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func seal(t *testing.T, v *vault.Vault, place, plain string) vault.Sealed {
	t.Helper()
	sealed, err := v.Seal(place, []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	v := open(t, master("one"))
	for _, plain := range []string{"", "x", "a value of some length", "\x00\xff\n", strings.Repeat("long ", 20_000)} {
		sealed := seal(t, v, "here", plain)
		if sealed.KeyID != "one" || sealed.KeyID != v.Current() {
			t.Errorf("sealed with %q", sealed.KeyID)
		}
		if len(plain) > 4 && strings.Contains(sealed.Key+sealed.Data, plain) {
			t.Error("the value is not encrypted")
		}
		got, err := v.Open("here", sealed)
		if err != nil || string(got) != plain {
			t.Errorf("%.20q: %.20q, %v", plain, got, err)
		}
	}
}

// Nothing about two values tells that they are the same: each has a key and a nonce of its own.
func TestSameValueTwice(t *testing.T) {
	t.Parallel()
	v := open(t, master("one"))
	a, b := seal(t, v, "here", "the same"), seal(t, v, "here", "the same")
	if a.Key == b.Key || a.Data == b.Data || a.Data[:16] == b.Data[:16] {
		t.Errorf("%+v and %+v", a, b)
	}
}

// A value belongs to its place, and its parts belong together.
func TestMovedValues(t *testing.T) {
	t.Parallel()
	v := open(t, master("one"), master("two"))
	a, b := seal(t, v, "workspaces/a/secrets/x", "of a"), seal(t, v, "workspaces/b/secrets/x", "of b")
	for name, c := range map[string]struct {
		place  string
		sealed vault.Sealed
	}{
		"another place":      {"workspaces/b/secrets/x", a},
		"no place":           {"", a},
		"a longer place":     {"workspaces/a/secrets/xy", a},
		"the key of another": {"workspaces/a/secrets/x", vault.Sealed{KeyID: a.KeyID, Key: b.Key, Data: a.Data}},
		"data of another":    {"workspaces/a/secrets/x", vault.Sealed{KeyID: a.KeyID, Key: a.Key, Data: b.Data}},
		"another master key": {"workspaces/a/secrets/x", vault.Sealed{KeyID: "two", Key: a.Key, Data: a.Data}},
		"data for the key":   {"workspaces/a/secrets/x", vault.Sealed{KeyID: a.KeyID, Key: a.Data, Data: a.Data}},
		"nothing":            {"workspaces/a/secrets/x", vault.Sealed{KeyID: a.KeyID}},
		"no data":            {"workspaces/a/secrets/x", vault.Sealed{KeyID: a.KeyID, Key: a.Key}},
	} {
		if got, err := v.Open(c.place, c.sealed); !errors.Is(err, vault.ErrDamaged) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestEveryChangeIsNoticed(t *testing.T) {
	t.Parallel()
	v := open(t, master("one"))
	sealed := seal(t, v, "here", "a value")
	for i := range sealed.Data {
		for bit := range 8 {
			changed := sealed
			changed.Data = flipped(sealed.Data, i, bit)
			if got, err := v.Open("here", changed); !errors.Is(err, vault.ErrDamaged) {
				t.Fatalf("bit %d of character %d of the data: %q, %v", bit, i, got, err)
			}
		}
	}
	for i := range sealed.Key {
		changed := sealed
		changed.Key = flipped(sealed.Key, i, i%8)
		if _, err := v.Open("here", changed); !errors.Is(err, vault.ErrDamaged) {
			t.Fatalf("character %d of the key: %v", i, err)
		}
		if _, _, err := v.Rewrap(changed); !errors.Is(err, vault.ErrDamaged) {
			t.Fatalf("character %d of the key is rewrapped: %v", i, err)
		}
	}
}

func flipped(text string, at, bit int) string {
	changed := []byte(text)
	changed[at] ^= 1 << bit
	return string(changed)
}

func TestUnknownMasterKey(t *testing.T) {
	t.Parallel()
	sealed := seal(t, open(t, master("lost")), "here", "a value")
	v := open(t, master("other"))
	_, err := v.Open("here", sealed)
	if !errors.Is(err, vault.ErrUnknownKey) || !strings.Contains(err.Error(), `"lost"`) {
		t.Errorf("%v does not name the key", err)
	}
	if _, done, err := v.Rewrap(sealed); done || !errors.Is(err, vault.ErrUnknownKey) {
		t.Errorf("rewrapped: %v, %v", done, err)
	}
}

// Another key under the same id is noticed, also where nothing has to be rewrapped.
func TestReplacedMasterKey(t *testing.T) {
	t.Parallel()
	sealed := seal(t, open(t, master("one")), "here", "a value")
	replaced := master("two")
	replaced.ID = "one"
	v := open(t, replaced)
	if _, err := v.Open("here", sealed); !errors.Is(err, vault.ErrDamaged) || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("opened: %v", err)
	}
	if _, done, err := v.Rewrap(sealed); done || !errors.Is(err, vault.ErrDamaged) {
		t.Errorf("rewrapped: %v, %v", done, err)
	}
}

func TestRewrap(t *testing.T) {
	t.Parallel()
	sealed := seal(t, open(t, master("old")), "here", "a value")
	both := open(t, master("new"), master("old"))
	rewrapped, done, err := both.Rewrap(sealed)
	if err != nil || !done || rewrapped.KeyID != "new" || rewrapped.Key == sealed.Key || rewrapped.Data != sealed.Data {
		t.Fatalf("%+v became %+v, %v, %v", sealed, rewrapped, done, err)
	}
	if again, done, err := both.Rewrap(rewrapped); done || err != nil || again != rewrapped {
		t.Errorf("rewrapped twice: %+v, %v, %v", again, done, err)
	}
	for name, v := range map[string]*vault.Vault{"both": both, "the new one alone": open(t, master("new"))} {
		if got, err := v.Open("here", rewrapped); err != nil || !bytes.Equal(got, []byte("a value")) {
			t.Errorf("with %s: %q, %v", name, got, err)
		}
	}
	if got, err := both.Open("here", sealed); err != nil || string(got) != "a value" {
		t.Errorf("before it is rewrapped: %q, %v", got, err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := vault.New(); err == nil {
		t.Error("a vault without keys")
	}
	if _, err := vault.New(master("one"), master("one")); err == nil || !strings.Contains(err.Error(), `"one"`) {
		t.Errorf("two keys of one id: %v", err)
	}
}
