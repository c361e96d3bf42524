package identity

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Cost of a password hash: two passes over 19 MiB, about 30 ms.
const (
	argonTime    = 2
	argonMemory  = 19 << 10
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

// hashPassword gives the text to store. It waits for its turn, because every hash takes 19 MiB.
func (i *Identity) hashPassword(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt)
	key, err := i.argon(ctx, password, salt, argonTime, argonMemory)
	if err != nil {
		return "", err
	}
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads, encode(salt), encode(key)), nil
}

// checkPassword tells whether the password fits the stored text. An account without a password takes as long to refuse.
func (i *Identity) checkPassword(ctx context.Context, password, stored string) (bool, error) {
	var memory, time uint32
	salt, want := make([]byte, argonSalt), []byte(nil)
	parts := strings.Split(stored, "$")
	if len(parts) == 6 {
		if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=1", &memory, &time); err == nil {
			salt, _ = base64.RawStdEncoding.DecodeString(parts[4])
			want, _ = base64.RawStdEncoding.DecodeString(parts[5])
		}
	}
	if len(want) == 0 {
		memory, time = argonMemory, argonTime
	}
	got, err := i.argon(ctx, password, salt, time, memory)
	if err != nil {
		return false, err
	}
	return len(want) > 0 && subtle.ConstantTimeCompare(got, want) == 1, nil
}

func (i *Identity) argon(ctx context.Context, password string, salt []byte, time, memory uint32) ([]byte, error) {
	select {
	case i.hashes <- struct{}{}:
		defer func() { <-i.hashes }()
		return argon2.IDKey([]byte(password), salt, time, memory, argonThreads, argonKey), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
