//go:build !linux

package code_test

func probes() map[string]func() string {
	return map[string]func() string{"environment": readsEnvironment}
}
