package gitcmd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gitcmd.Address{
		"https://github.com/org/repo.git":             {Scheme: "https", Host: "github.com", Path: "/org/repo.git"},
		"https://github.com/org/repo/":                {Scheme: "https", Host: "github.com", Path: "/org/repo"},
		"HTTPS://GitHub.com/Org/Repo":                 {Scheme: "https", Host: "github.com", Path: "/Org/Repo"},
		"https://git.example:8443/a":                  {Scheme: "https", Host: "git.example", Port: 8443, Path: "/a"},
		"https://dev.azure.com/o/My%20Project/_git/x": {Scheme: "https", Host: "dev.azure.com", Path: "/o/My%20Project/_git/x"},
		"https://203.0.113.7/a":                       {Scheme: "https", Host: "203.0.113.7", Path: "/a"},
		"https://[2001:db8::7]:8443/a":                {Scheme: "https", Host: "2001:db8::7", Port: 8443, Path: "/a"},
		"https://xn--mnchen-3ya.example/~me/a":        {Scheme: "https", Host: "xn--mnchen-3ya.example", Path: "/~me/a"},
		"git@github.com:org/repo.git":                 {Scheme: "ssh", User: "git", Host: "github.com", Path: "org/repo.git"},
		"git@ssh.dev.azure.com:v3/o/My%20Project/x":   {Scheme: "ssh", User: "git", Host: "ssh.dev.azure.com", Path: "v3/o/My%20Project/x"},
		"me@host:/srv/repo.git":                       {Scheme: "ssh", User: "me", Host: "host", Path: "/srv/repo.git"},
		"me@host:~/repo.git":                          {Scheme: "ssh", User: "me", Host: "host", Path: "~/repo.git"},
		"git@[2001:db8::7]:repo":                      {Scheme: "ssh", User: "git", Host: "2001:db8::7", Path: "repo"},
		"ssh://git@host/repo":                         {Scheme: "ssh", User: "git", Host: "host", Path: "/repo"},
		"ssh://host:2222/srv/repo":                    {Scheme: "ssh", User: "git", Host: "host", Port: 2222, Path: "/srv/repo"},
		"ssh://APKA_1.x-y@host:443/v1/repos/a":        {Scheme: "ssh", User: "APKA_1.x-y", Host: "host", Port: 443, Path: "/v1/repos/a"},
	} {
		got, err := gitcmd.ParseAddress(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
			continue
		}
		again, err := gitcmd.ParseAddress(got.String())
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%s is written %s, which reads %v:\n%s", text, got, err, diff)
		}
	}
	for text, want := range map[string]uint16{"https://h/a": 443, "https://h:8443/a": 8443, "git@h:a": 22, "ssh://git@h:2222/a": 2222} {
		if got, err := gitcmd.ParseAddress(text); err != nil || got.PortOrDefault() != want {
			t.Errorf("%s: port %d, %v, want %d", text, got.PortOrDefault(), err, want)
		}
	}
}

// B-GIT-01
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ext::sh -c touch% /tmp/x", "ext::sh", "fd::3", "fd::3,4", "file:///etc", "/etc", "./x", "../x", "x", "repo.git", "host:path", "C:\\repo", "c:/repo",
		"git://host/x", "http://host/x", "ftp://host/x", "ftps://host/x", "rsync://host/x", "git+ssh://git@host/x", "ssh+git://host/x", "https::https://host/x", "transport::address",
		"ssh://-oProxyCommand=x/", "ssh://-oProxyCommand=x/path", "ssh://git@-oProxyCommand=x/path", "ssh://-l@host/x", "git@-oProxyCommand=x:path", "-oProxyCommand=x@host:path",
		"-u", "--upload-pack=touch x", "--upload-pack=touch", "git@host:-x", "git@host:--upload-pack=x", "git@host:", "git@host", "@host:x", "git@:x",
		"https://host:22/x", "https://host:0/x", "https://host:/x", "https://host:65536/x", "https://host:-1/x", "https://host:8o/x", "ssh://git@host:0/x",
		"https://user@host/x", "https://user:pass@host/x", "https://:pass@host/x", "https://@host/x", "ssh://user:pass@host/x", "ssh://a b@host/x", "ssh://$(id)@host/x", "git;id@host:x",
		"https://host/x\r\n", "https://host/x\n", "https://ho\nst/x", "https://host/\x00", "https://host/%00", "https://host/%0a", "https://host/a%0Db", "https://host%0a/x", "https://host/%7f", "https://host/a%5cb",
		"git@host:a\nb", "git@host:%0a", "https://host/%zz", "https://host/%",
		"https://münchen.example/x", "https://①②⑦.⓪.⓪.①/x", "git@münchen.example:x", "https://ex\u200dample.com/x", "https://host/x\u202e",
		"https://[fe80::1%25eth0]/x", "https://[fe80::1%eth0]/x", "https://[::1/x", "https://::1/x", "https://[host]/x", "https://[127.0.0.1]/x", "git@[::1%lo]:x",
		"https://127.1/x", "https://0x7f000001/x", "https://0x7f.0.0.1/x", "https://2130706433/x", "https://0177.0.0.1/x", "https://127.0.0.01/x", "https://1.2.3.4.5/x", "https://host.0x1/x",
		"https://host./x", "https://.host/x", "https://a..b/x", "https://-host/x", "https://host-/x", "https://" + strings.Repeat("a", 64) + "/x", "https://" + strings.Repeat("a.", 130) + "b/x",
		"https://host", "https://host/", "https://host//", "https://host//x", "https://host/a//b", "https://host/../x", "https://host/a/..", "https://host/./x", "https://host/%2e%2e/x", "git@host:../x", "git@host:a/../b", "git@host:..",
		"https://host/x?y=z", "https://host/x?", "https://host/x#y", "https://host/x#", "https://host/a b", "https://host/a'b", "https://host/a%27b", "https://host/a\"b", "https://host/$(id)", "https://host/a;b", "https://host/a|b", "https://host/a`b",
		"git@host:$(id)", "git@host:a b", "git@host:a'b", "git@ho st:x", "git@host\\x:y", "https:///x", "https://", "https:host/x", "https:/host/x", "ssh://", "ssh:///x", "//host/x",
		"https://host/" + strings.Repeat("x", 1024), "https://host/\xff", "git@host::x y",
	} {
		got, err := gitcmd.ParseAddress(text)
		if err == nil {
			t.Errorf("%q was read as %+v", text, got)
			continue
		}
		if !strings.HasSuffix(err.Error(), ".") || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q: %q is not a sentence for a user", text, err)
		}
	}
}

// B-GIT-04
func TestBranches(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main", "a", "feature/x", "v1.2.3", "0", "release-2024_01", "Svcx", "svcs/x", "a/b/c/d", strings.Repeat("x", 200)} {
		if err := gitcmd.CheckBranch(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "-u", "--exec=touch x", "--upload-pack=x", "a..b", "..", ".", "x.lock", "a.lock/b", "a/x.lock", "@{", "a@{1}", "@", "refs/heads/x", "refs/x", "$(id)", "a|b", "a;b", "a b", "a\nb", "main\n", "a\x00b",
		strings.Repeat("x", 201), strings.Repeat("x", 300), "HEAD", "a/HEAD", "FETCH_HEAD", "svc/other/main", "svc/x", "SVC/x", "svc", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a/b.", "a~1", "a^", "a:b", "a?b", "a*b", "a[b", "a\\b",
		"ä", "a\u200db", "0123456789012345678901234567890123456789",
	} {
		if err := gitcmd.CheckBranch(name); err == nil || !strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%q: %v, want a sentence", name, err)
		}
	}
	for name, good := range map[string]bool{"v1": true, "svc/x": true, "-d": false, "a..b": false, "HEAD": false, "a b": false, "": false} {
		if err := gitcmd.CheckTag(name); (err == nil) != good {
			t.Errorf("tag %q: %v", name, err)
		}
	}
}

// What is allowed here is allowed by git.
func TestBranchesAreGits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main", "a", "feature/x", "v1.2.3", "0", "a-b/c_d.e", "x/lock", "a.locked"} {
		if err := gitcmd.CheckBranch(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		gittest.Run(t, "", "check-ref-format", "refs/heads/"+name)
	}
}

// B-GIT-05
func TestFolders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "a", "a/b", "workspaces/my site", ".config", "données/été", "a.b", "a+b@c", "gitx", ".gitx", "x.git", strings.Repeat("x", 100)} {
		if err := gitcmd.CheckFolder(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{
		"..", ".", "/", "/a", "a/", "a//b", ".git", "a/.git", ".GIT", ".git/hooks", "git~1", "GIT~1", ".g\u200cit", ".git.", ".git ", ".git::$INDEX", "a/../../b", "../b", "a/./b", "a\\b", "..\\b", "a\nb", "a\x00b", "a\tb",
		" a", "a ", "a/ b", "a.", "C:", "a:b", "a*", "a?", "a\"b", "a'b", "$(id)", "a|b", "~", "-a;", strings.Repeat("x", 101), strings.Repeat("a/", 2048), "\xff", "a\u202eb",
	} {
		if err := gitcmd.CheckFolder(path); err == nil || !strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%q: %v, want a sentence", path, err)
		}
	}
}

func encodePEM(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

// rsaKey is made once: it takes its time.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil
	}
	return key
})

// privateKeys are keys that can be used, one of each kind and form.
func privateKeys(t *testing.T) map[string]string {
	t.Helper()
	ed, _ := gittest.NewSSHKey(t)
	strong := rsaKey()
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, _ := x509.MarshalECPrivateKey(curve)
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(strong)
	openSSH, err := ssh.MarshalPrivateKey(curve, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"ed25519": ed, "rsa": encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(strong)), "ecdsa": encodePEM("EC PRIVATE KEY", sec1),
		"pkcs8": encodePEM("PRIVATE KEY", pkcs8), "openssh": string(pem.EncodeToMemory(openSSH)), "with CRLF": strings.ReplaceAll(ed, "\n", "\r\n"), "without end": strings.TrimSpace(ed),
	}
}

// B-GIT-09
func TestSSHKeys(t *testing.T) {
	t.Parallel()
	good := privateKeys(t)
	for name, key := range good {
		if err := gitcmd.CheckSSHKey(key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, public := gittest.NewSSHKey(t)
	encrypted, err := ssh.MarshalPrivateKeyWithPassphrase(rsaKey(), "", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	old, err := asn1.Marshal(struct{ V, P, Q, G, Y, X *big.Int }{big.NewInt(0), big.NewInt(23), big.NewInt(11), big.NewInt(4), big.NewInt(3), big.NewInt(5)})
	if err != nil {
		t.Fatal(err)
	}
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p224Raw, _ := x509.MarshalECPrivateKey(p224)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"empty": "", "garbage": "hello", "garbage in a block": encodePEM("OPENSSH PRIVATE KEY", []byte("hello")), "no end": strings.Split(good["ed25519"], "-----END")[0],
		"public": public, "public block": encodePEM("PUBLIC KEY", []byte("hello")), "PuTTY": "PuTTY-User-Key-File-3: ssh-ed25519\n", "certificate": encodePEM("CERTIFICATE", []byte("hello")),
		"encrypted": string(pem.EncodeToMemory(encrypted)), "encrypted PKCS8": encodePEM("ENCRYPTED PRIVATE KEY", []byte("hello")),
		"encrypted PEM": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\naGVsbG8=\n-----END RSA PRIVATE KEY-----\n",
		"DSA":           encodePEM("DSA PRIVATE KEY", old), "100 KB": good["ed25519"] + strings.Repeat("\n", 100<<10), "short RSA": encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(weak)),
		"odd curve": encodePEM("EC PRIVATE KEY", p224Raw), "with command=": `command="id" ` + good["ed25519"], "text after it": good["ed25519"] + "ProxyCommand=id\n", "two": good["ed25519"] + good["rsa"],
	} {
		err := gitcmd.CheckSSHKey(key)
		if err == nil || !strings.HasSuffix(err.Error(), ".") {
			t.Errorf("%s: %v, want a sentence", name, err)
			continue
		}
		if _, err := gitcmd.ParseSigner(key); err == nil {
			t.Errorf("%s can sign", name)
		}
	}
}

func TestPasswordsAndKnownHosts(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"": true, "glpat-x": true, "a b:%&ß": true, "a\nb": false, "a\r": false, "a\x00": false, strings.Repeat("x", 5000): false} {
		if err := gitcmd.CheckPassword(text); (err == nil) != good {
			t.Errorf("password %q: %v", text, err)
		}
	}
	_, public := gittest.NewSSHKey(t)
	for text, good := range map[string]bool{
		"host " + public: true, public: true, "# comment\n[host]:22 " + public: true, "|1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg= " + public: true,
		"": false, "#": false, "host": false, "host ssh-ed25519 garbage": false, "hello world": false, strings.Repeat("host "+public, 1000): false,
	} {
		if err := gitcmd.CheckKnownHosts(text); (err == nil) != good {
			t.Errorf("known hosts %.40q: %v", text, err)
		}
	}
}
