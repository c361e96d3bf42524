package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{
		"ADMIN_EMAIL=a+b@c.example",
		"API_URL=https://a.example/v2",
		"API_URL=http://[::1]:3001/base/v2",
		"INTERNAL_API_URL=http://gateway:3001/v2",
		"TRUSTED_PROXIES=10.0.0.0/8,::1,fd00::/8",
		"EGRESS_ALLOWED_NETWORKS=192.168.1.7",
		"UPLOADS_ALLOWED_MIMETYPES=image/*,application/vnd.ms-excel,image/svg+xml",
		"UPLOADS_FILESYSTEM_DOWNLOAD_URL=https://files.example/v2",
		"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://a.example,http://localhost:5173,.b.example,capacitor://localhost,http://[::1]:80",
	} {
		if _, err := fromEnviron(variable); err != nil {
			t.Errorf("%s: %v", variable, err)
		}
	}
}

func TestFormsAreRefused(t *testing.T) {
	t.Parallel()
	const (
		email     = " is not an e-mail address; allowed: an e-mail address"
		versioned = " does not end with /v2; allowed: an address that begins with http:// or https://, without user, ? and #, ending with /v2"
		network   = " is not a network; allowed: a comma list, each a CIDR or an address, such as 10.0.0.0/8 or 192.168.1.7"
		origin    = " is not an origin; allowed: a comma list, each scheme://host, scheme://host:port, or .domain for its sub-domains"
	)
	const media = " is not a media type; allowed: a comma list, each a media type such as image/png or image/*"
	for _, test := range []struct{ variable, want string }{
		{"UPLOADS_ALLOWED_MIMETYPES=image", `"image"` + media},
		{"UPLOADS_ALLOWED_MIMETYPES=image/png,*/*", `"*/*"` + media},
		{"UPLOADS_FORBIDDEN_MIMETYPES=text/*l", `"text/*l"` + media},
		{"UPLOADS_FILESYSTEM_DOWNLOAD_URL=https://files.example", `"https://files.example"` + versioned},
		{"ADMIN_EMAIL=admin", `"admin"` + email},
		{"ADMIN_EMAIL=@b", `"@b"` + email},
		{"ADMIN_EMAIL=a@", `"a@"` + email},
		{"ADMIN_EMAIL=a@b@c", `"a@b@c"` + email},
		{"ADMIN_EMAIL=a@b c", `"a@b c"` + email},
		{"SUPER_ADMIN_EMAILS=a@b,c", `"c" is not an e-mail address; allowed: a comma list, each an e-mail address`},
		{"API_URL=https://a.example", `"https://a.example"` + versioned},
		{"API_URL=https://a.example/v2/", `"https://a.example/v2/"` + versioned},
		{"INTERNAL_API_URL=http://gateway:3001", `"http://gateway:3001"` + versioned},
		{"TRUSTED_PROXIES=10.0.0.0/33", `"10.0.0.0/33"` + network},
		{"EGRESS_ALLOWED_NETWORKS=10.0.0.1,db.internal", `"db.internal"` + network},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://a.example/", `"https://a.example/"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=.b.example,a.example", `"a.example"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=//a.example", `"//a.example"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=*", `"*"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=null", `"null"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://*.a.example", `"https://*.a.example"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://", `"https://"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://%zz", `"https://%zz"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=.", `"."` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=..example", `"..example"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=.a.example/b", `".a.example/b"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://a:99999", `"https://a:99999"` + origin},
		{"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://u:hunter2@a.example", "the value" + origin},
	} {
		t.Run(test.variable, func(t *testing.T) {
			t.Parallel()
			_, err := fromEnviron(test.variable)
			name, _, _ := strings.Cut(test.variable, "=")
			want := name + ": " + test.want + " (from environment " + name + ")"
			if diff := cmp.Diff(want, message(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
