package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"atelier/internal/config"
	"atelier/internal/egress"
	"atelier/internal/gitcmd"
	"atelier/internal/lifecycle"
)

// Finding is the result of one check of doctor.
type Finding struct {
	Name string
	// Good describes what was found when Problem is nil.
	Good string
	// Problem is what is wrong; Fix says what to do about it.
	Problem error
	Fix     string
}

// check is one thing that a start needs. Its examination returns what it found, or what is wrong.
type check struct {
	name string
	// part is what a target must need for the check to be made; empty when every process needs it.
	part    string
	fix     string
	examine func(ctx context.Context) (string, error)
}

// checkTimeout bounds a check, so that a server that does not answer is a finding too.
const checkTimeout = 10 * time.Second

// Examine checks what a start with these options would need: disk, port, data directory, git, and a round trip with every
// configured driver. It changes nothing: what it writes it removes again, and no schema is touched.
func Examine(ctx context.Context, opts Options) ([]Finding, error) {
	chosen, err := chosenTargets(opts.Config.Target)
	if err != nil {
		return nil, err
	}
	var group lifecycle.Group
	defer func() { _ = group.Stop(context.WithoutCancel(ctx)) }()
	d := newDoctor(opts, &group)
	var findings []Finding
	for _, c := range d.checks() {
		if c.part != "" && !slices.ContainsFunc(chosen, func(t target) bool { return slices.Contains(t.needs, c.part) }) {
			continue
		}
		finding := Finding{Name: c.name, Fix: c.fix}
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		finding.Good, finding.Problem = c.examine(limited)
		cancel()
		findings = append(findings, finding)
	}
	return findings, ctx.Err()
}

// doctor makes the checks. Those of the drivers are in doctor_drivers.go.
type doctor struct {
	cfg   config.Config
	parts *parts
	// broken tells that the database failed its check.
	broken bool
	// untrusted is why EXTRA_CA_CERTS cannot be used.
	untrusted error
}

func newDoctor(opts Options, group *lifecycle.Group) *doctor {
	d := &doctor{cfg: opts.Config, parts: &parts{opts: opts, group: group}}
	if d.parts.egress, d.untrusted = egress.New(egress.Config{ExtraCACerts: d.cfg.ExtraCACerts}); d.untrusted != nil {
		d.parts.egress, _ = egress.New(egress.Config{}) // the other checks go on with the system's authorities
	}
	return d
}

func (d *doctor) checks() []check {
	return []check{
		{name: "disk", fix: "free some space, or put the data directory on a larger disk with --data-dir", examine: d.disk},
		{name: "port", fix: "stop the process that uses it, or choose another port with --port and another address with --host", examine: d.port},
		{name: "data directory", fix: "let this user write there, or choose another directory with --data-dir", examine: d.dataDir},
		{name: partDatabase, part: partDatabase, fix: d.databaseFix(), examine: d.database},
		{name: partBus, part: partBus, fix: "check BROKER_HOST, BROKER_USER and BROKER_PASSWORD, and that JetStream is on", examine: d.bus},
		{name: partSessions, part: partSessions, fix: "check SESSIONS_STORAGE_HOST and SESSIONS_STORAGE_PASSWORD, and that the server runs", examine: d.sessions},
		{name: partLimits, part: partLimits, fix: "check RATE_LIMITS_STORAGE_HOST and RATE_LIMITS_STORAGE_PASSWORD, and that the server runs", examine: d.limits},
		{name: partBlobs, part: partBlobs, fix: "check the WORKSPACES_STORAGE_* settings, and that the place can be written", examine: d.blobs},
		{name: partGit, part: partGit, fix: "install git 2.38 or newer and make sure that it is the first one on the PATH", examine: d.git},
		{name: partSecrets, part: partSecrets, fix: "put the missing key back into SECRETS_MASTER_KEYS, or INTERNAL_API_KEY back to what it was; see \"Secrets\" in docs/operating.md", examine: d.secrets},
		{name: partMail, part: partMail, fix: "check the SMTP_* settings and EMAIL_FROM, and that the server runs", examine: d.mail},
		{name: "certificates", fix: "check that EXTRA_CA_CERTS names a file with PEM certificates", examine: d.certificates},
	}
}

func (d *doctor) disk(context.Context) (string, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(existing(d.cfg.DataDir), &stat); err != nil {
		return "", err
	}
	free := stat.Bavail * uint64(stat.Bsize) //nolint:gosec // a block size is positive
	const least, gib = 1 << 30, 1 << 30
	text := fmt.Sprintf("%.1f GiB free", float64(free)/gib)
	if free < least {
		return "", errors.New("only " + text)
	}
	return text, nil
}

func (d *doctor) port(ctx context.Context) (string, error) {
	port := strconv.Itoa(d.cfg.ListenPort())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(d.cfg.Host, port))
	if err != nil {
		return "", err
	}
	return port + " is free", listener.Close()
}

// dataDir tries whether the directory can be written, or made. A running server has it, which is not a fault of the
// directory: that another one cannot be started is what the finding says.
func (d *doctor) dataDir(context.Context) (string, error) {
	dir := d.cfg.DataDir
	if existing(dir) != filepath.Clean(dir) {
		return dir + " will be made", canWrite(existing(dir))
	}
	if _, err := os.Stat(filepath.Join(dir, lockFile)); err == nil && Embedded(d.cfg) {
		lock, err := LockDataDir(dir)
		if err != nil {
			return "", err
		}
		return dir, lock.Close()
	}
	return dir, canWrite(dir)
}

func (d *doctor) git(ctx context.Context) (string, error) {
	git, err := gitcmd.Open(ctx, gitcmd.Config{})
	if err != nil {
		return "", err
	}
	return git.Version().String(), git.Check(ctx)
}

func (d *doctor) certificates(context.Context) (string, error) {
	if d.cfg.ExtraCACerts == "" {
		return "those of the system", nil
	}
	return "those of the system and of " + d.cfg.ExtraCACerts, d.untrusted
}

// existing is the directory itself or, when it does not exist yet, the nearest one above it that does.
func existing(dir string) string {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// canWrite makes a file in the directory and removes it.
func canWrite(dir string) error {
	file, err := os.CreateTemp(dir, ".atelier-doctor-")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name())) //nolint:gosec // made just above
}
