package vault_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"atelier/internal/vault"
)

// secretly is a key whose every spelling a message could be searched for.
func secretly(letter string) (raw [32]byte, std, hexa string) {
	copy(raw[:], strings.Repeat(letter, 32))
	return raw, base64.StdEncoding.EncodeToString(raw[:]), hex.EncodeToString(raw[:])
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	a, stdA, hexA := secretly("\xfba")
	b, stdB, hexB := secretly("b")
	both := []vault.MasterKey{{ID: "2026-a", Key: a}, {ID: "b", Key: b}}
	for name, c := range map[string]struct {
		text string
		want []vault.MasterKey
	}{
		"nothing":            {" ", nil},
		"one":                {"b:" + stdB, both[1:]},
		"two":                {"2026-a:" + stdA + ",b:" + stdB, both},
		"blanks":             {" 2026-a:" + stdA + " , b:" + stdB + "\n", both},
		"no padding":         {"b:" + strings.TrimRight(stdB, "="), both[1:]},
		"for addresses":      {"2026-a:" + base64.RawURLEncoding.EncodeToString(a[:]), both[:1]},
		"JSON":               {`[{"kid":"2026-a","key":"` + hexA + `","active":true},{"kid":"b","key":"` + hexB + `"}]`, both},
		"JSON, active last":  {`[{"kid":"b","key":"` + hexB + `"},{"kid":"2026-a","key":"` + hexA + `","active":true}]`, both},
		"JSON, none active":  {`[{"kid":"2026-a","key":"` + hexA + `"},{"kid":"b","key":"` + hexB + `"}]`, both},
		"JSON in upper case": {`[{"kid":"b","key":"` + strings.ToUpper(hexB) + `","active":true}]`, both[1:]},
	} {
		got, err := vault.ParseKeys(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestParseKeysThatAreWrong(t *testing.T) {
	t.Parallel()
	_, stdA, hexA := secretly("a")
	_, stdB, hexB := secretly("b")
	for name, c := range map[string]struct{ text, says string }{
		"no id":             {stdA, "entry 1 has no colon"},
		"empty id":          {"a:" + stdA + ",:" + stdB, "entry 2 has no good id"},
		"wrong way round":   {stdA + ":a", "entry 1 has no good id"},
		"hex round":         {hexA + ":a", "entry 1 has no good id"},
		"empty entry":       {"a:" + stdA + ",", "entry 2 has no colon"},
		"short":             {"a:" + stdA + ",b:" + stdB[:40], `entry 2 ("b") has no good key`},
		"long":              {"a:" + base64.StdEncoding.EncodeToString(make([]byte, 33)), `entry 1 ("a") has no good key`},
		"not base64":        {"a:" + strings.Repeat("%", 43), `entry 1 ("a") has no good key`},
		"hex in a list":     {"a:" + hexA, `entry 1 ("a") has no good key`},
		"twice":             {"a:" + stdA + ",a:" + stdB, `the id "a" is used twice`},
		"same key":          {"a:" + stdA + ",b:" + stdA, `"a" and "b" are the same key`},
		"reserved":          {"internal:" + stdA, `entry 1 has the id "internal"`},
		"JSON, broken":      {`[{"kid":"a","key":"` + hexA + `"`, "not a JSON list"},
		"JSON, a number":    {`[{"kid":"a","key":123456789}]`, "not a JSON list"},
		"JSON, unknown key": {`[{"kid":"a","key":"` + hexA + `","x":1}]`, "not a JSON list"},
		"JSON, empty":       {`[]`, "not a JSON list"},
		"JSON, more":        {`[{"kid":"a","key":"` + hexA + `"}] x`, "after the JSON list"},
		"JSON, short":       {`[{"kid":"a","key":"` + hexA + `"},{"kid":"b","key":"` + hexB[:60] + `"}]`, `entry 2 ("b") has no good key`},
		"JSON, base64":      {`[{"kid":"a","key":"` + stdA + `"}]`, `entry 1 ("a") has no good key`},
		"JSON, two active":  {`[{"kid":"a","key":"` + hexA + `","active":true},{"kid":"b","key":"` + hexB + `","active":true}]`, "entries 1 and 2 are both active"},
		"JSON, no id":       {`[{"key":"` + hexA + `"}]`, "entry 1 has no good id"},
	} {
		keys, err := vault.ParseKeys(c.text)
		if err == nil || keys != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, keys, err)
			continue
		}
		for _, secret := range []string{stdA[:20], stdB[:20], hexA[:20], hexB[:20], "123456789"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the message shows a key: %v", name, err)
			}
		}
	}
}

func TestDerivedKey(t *testing.T) {
	t.Parallel()
	derive := func(text string) vault.MasterKey {
		key, err := vault.DerivedKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	one := derive("an internal key")
	if one != derive("an internal key") || one.ID != vault.DerivedKeyID {
		t.Error("it is not always the same")
	}
	if one.Key == derive("another internal key").Key || strings.Contains(string(one.Key[:]), "internal") || one.Key == [32]byte{} {
		t.Error("it is not made from the whole internal key")
	}
}

func TestMasterKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	raw, _, _ := secretly("a")
	key := vault.MasterKey{ID: "one", Key: raw}
	encoded, err := json.Marshal(map[string]any{"key": key})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %x %d", key, key, key, key), fmt.Sprint([]vault.MasterKey{key}), string(encoded)} {
		if strings.Contains(text, "97") || strings.Contains(text, "61") || strings.Contains(text, "aaa") || !strings.Contains(text, "master key one") {
			t.Error(text)
		}
	}
}
