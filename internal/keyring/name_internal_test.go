package keyring

import "testing"

// The id of a key is an argument of atelier keys revoke: it must not look like a flag.
func TestNamesAreNoFlags(t *testing.T) {
	t.Parallel()
	for _, print := range [][]byte{{0xf8, 1, 2}, {0xfb, 0xef, 0xbe, 1, 2, 3}} {
		if name := named(print); name == "" || name[0] == '-' {
			t.Errorf("%x is named %q", print, name)
		}
	}
}
