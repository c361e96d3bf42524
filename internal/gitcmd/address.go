package gitcmd

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const (
	schemeHTTPS = "https"
	schemeSSH   = "ssh"

	maxAddress = 1024
	maxHost    = 253
)

// Address is where a repository is, read and checked. A Path without a leading slash begins at the home of the SSH user:
// git@host:path says so, a URL cannot.
type Address struct {
	Scheme, User, Host string
	Port               uint16 // 0 is the scheme's own
	Path               string
}

// refusedError says what is wrong with something a user wrote, as a sentence.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }

const (
	errForm        = refusedError("The address of a repository is written https://host/path or git@host:path.")
	errScheme      = refusedError("Only https and SSH reach a repository; use https://host/path or git@host:path.")
	errLongAddress = refusedError("The address is longer than 1024 characters; use https://host/path or git@host:path.")
	errSigns       = refusedError("The address holds characters that do not belong there; use https://host/path or git@host:path, and write special characters as %xx.")
	errUserInfo    = refusedError("The address must not hold a user name or password; put them into the authentication and use https://host/path.")
	errUser        = refusedError("The user name before the @ is not one; use git@host:path.")
	errHost        = refusedError("The host is not a name or an address; use https://host/path or git@host:path.")
	errForeignHost = refusedError("The host holds letters outside of ASCII; write the name as name servers know it, beginning with xn--.")
	errPort        = refusedError("The port is not one that a Git server can have; leave it out, or use https://host:port/path or ssh://git@host:port/path.")
	errPath        = refusedError("The path does not name a repository; use https://host/path or git@host:path.")
)

//nolint:gochecknoglobals // compiled once, never changed
var (
	schemeForm = regexp.MustCompile(`^(?i:https|ssh)://`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
	labelForm  = regexp.MustCompile(`^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$`)
	pathForm   = regexp.MustCompile(`^[A-Za-z0-9._~/+@:%=,!()-]+$`)
)

// ParseAddress reads what a user wrote: https://host/path, ssh://user@host/path or user@host:path. Everything else, and
// what could mean something else to git, to ssh or to a shell on the way, is refused with a sentence for the user.
func ParseAddress(text string) (Address, error) {
	switch {
	case len(text) > maxAddress:
		return Address{}, errLongAddress
	case strings.ContainsFunc(text, strange):
		return Address{}, errSigns
	case schemeForm.MatchString(text):
		return parseURL(text)
	case strings.Contains(text, "::") && !strings.Contains(text, "["), strings.Contains(text, "://"):
		return Address{}, errScheme
	}
	return parseShort(text)
}

func strange(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' || r == unicode.ReplacementChar
}

func parseURL(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, errForm
	}
	if u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#") {
		return Address{}, errPath
	}
	a := Address{Scheme: u.Scheme}
	if a.User, err = userOf(u); err != nil {
		return Address{}, err
	}
	if a.Host, err = checkHost(u.Hostname(), strings.Contains(u.Host, "[")); err != nil {
		return Address{}, err
	}
	if a.Port, err = portOf(u); err != nil {
		return Address{}, err
	}
	_, rest, _ := strings.Cut(text, "://")
	_, path, _ := strings.Cut(rest, "/")
	a.Path, err = checkPath("/" + path) // as it was written: the parser would mend it
	return a, err
}

func userOf(u *url.URL) (string, error) {
	if u.Scheme == schemeHTTPS {
		if u.User != nil {
			return "", errUserInfo
		}
		return "", nil
	}
	if u.User == nil {
		return "git", nil // ssh would take the name of the user that we run as
	}
	if _, has := u.User.Password(); has {
		return "", errUserInfo
	}
	if !userForm.MatchString(u.User.Username()) {
		return "", errUser
	}
	return u.User.Username(), nil
}

// portOf also refuses https on the port of SSH: nobody means that but who wants to talk to something else.
func portOf(u *url.URL) (uint16, error) {
	if u.Port() == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, errPort
		}
		return 0, nil
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 || port == 22 && u.Scheme == schemeHTTPS {
		return 0, errPort
	}
	return uint16(port), nil
}

// parseShort reads user@host:path, the form of scp.
func parseShort(text string) (Address, error) {
	user, rest, found := strings.Cut(text, "@")
	if !found {
		return Address{}, errForm
	}
	if !userForm.MatchString(user) {
		return Address{}, errUser
	}
	host, path, found := cutHost(rest)
	if !found {
		return Address{}, errForm
	}
	host, err := checkHost(strings.Trim(host, "[]"), strings.HasPrefix(host, "["))
	if err != nil {
		return Address{}, err
	}
	if strings.HasPrefix(path, "-") {
		return Address{}, errPath // an option of the program at the other end
	}
	path, err = checkPath(path)
	return Address{Scheme: schemeSSH, User: user, Host: host, Path: path}, err
}

func cutHost(text string) (host, path string, found bool) {
	if strings.HasPrefix(text, "[") {
		host, path, found = strings.Cut(text, "]:")
		return host + "]", path, found
	}
	return strings.Cut(text, ":")
}

// checkHost returns the host in lower case. Names that resolvers read as addresses although they do not look like one
// (127.1, 0x7f000001) are refused.
func checkHost(host string, brackets bool) (string, error) {
	host = strings.ToLower(host)
	if brackets {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", errHost
		}
		return addr.String(), nil
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", errForeignHost
	}
	if host == "" || len(host) > maxHost {
		return "", errHost
	}
	last := ""
	for last = range strings.SplitSeq(host, ".") {
		if !labelForm.MatchString(last) {
			return "", errHost
		}
	}
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		if addr, err := netip.ParseAddr(host); err != nil || !addr.Is4() {
			return "", errHost
		}
	}
	return host, nil
}

// checkPath returns the path without slashes at its end.
func checkPath(path string) (string, error) {
	path = strings.TrimRight(path, "/")
	if path == "" {
		return "", errPath
	}
	decoded, err := url.PathUnescape(path)
	if err != nil || !pathForm.MatchString(path) {
		return "", errSigns
	}
	if strings.ContainsFunc(decoded, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune("\\'\"`$", r) }) {
		return "", errSigns
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(decoded, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", errPath
		}
	}
	return path, nil
}

// String is the address as git reads it.
func (a Address) String() string {
	if !strings.HasPrefix(a.Path, "/") {
		return a.User + "@" + a.bracketed() + ":" + a.Path
	}
	authority := a.bracketed()
	if a.User != "" {
		authority = a.User + "@" + authority
	}
	if a.Port != 0 {
		authority += ":" + strconv.Itoa(int(a.Port))
	}
	return a.Scheme + "://" + authority + a.Path
}

func (a Address) bracketed() string {
	if strings.Contains(a.Host, ":") {
		return "[" + a.Host + "]"
	}
	return a.Host
}

// PortOrDefault is the port that is connected to.
func (a Address) PortOrDefault() uint16 {
	switch {
	case a.Port != 0:
		return a.Port
	case a.Scheme == schemeSSH:
		return 22
	default:
		return 443
	}
}

// hostPort is what is connected to when nothing is pinned.
func (a Address) hostPort() string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.PortOrDefault())))
}

// alias is the name of the server's keys in a list of known hosts, the way ssh-keyscan writes it.
func (a Address) alias() string {
	if a.PortOrDefault() == 22 {
		return a.Host
	}
	return "[" + a.Host + "]:" + strconv.Itoa(int(a.PortOrDefault()))
}
