package limits_test

import (
	"net/http"
	"testing"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/kv/memkv"
)

// What limits cost an ordinary call, with the store in memory; on Redis its round trip comes on top.
func BenchmarkAdmit(b *testing.B) {
	for name, caller := range map[string]access.Principal{"user": user("0123456789abcdef01234567"), "nobody": {}} {
		b.Run(name, func(b *testing.B) {
			cfg := settings()
			cfg.RateLimitUser, cfg.RateLimitAddress = 10_000_000, 10_000_000
			store := memkv.New(clock.System{})
			l, err := limits.New(limits.Deps{Limiter: store, Store: store, Clock: clock.System{}, Log: discard(), Config: cfg})
			if err != nil {
				b.Fatal(err)
			}
			ctx, header := from(b, somewhere), http.Header{}
			b.ReportAllocs()
			for b.Loop() {
				release, err := l.Admit(ctx, caller, limits.Call{Method: http.MethodGet, Path: "/v2/workspaces/abcdefg/pages", Header: header})
				if err != nil {
					b.Fatal(err)
				}
				release()
			}
		})
	}
}

func BenchmarkBlocked(b *testing.B) {
	l := newWorld(nil).instance(b)
	ctx := from(b, somewhere)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Blocked(ctx, limits.Key, "ak_12345678"); err != nil {
			b.Fatal(err)
		}
	}
}
