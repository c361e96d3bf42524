package gitserver

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
)

// protocolOf is the newest version of the protocol that a client offers with its header Git-Protocol.
func protocolOf(header string) string {
	found := ""
	for part := range strings.SplitSeq(header, ":") {
		switch part {
		case "version=0", "version=1", "version=2":
			found = max(found, part)
		}
	}
	return found
}

// AdvertiseFetch answers a client that begins to clone or fetch, for a caller that may read the workspace.
func (s *Server) AdvertiseFetch(ctx context.Context, name, protocol string, out io.Writer) error {
	protocol = protocolOf(protocol)
	return s.serve(ctx, name, access.ActionRead, func(ctx context.Context, r served) error {
		if protocol != "version=2" {
			if _, err := io.WriteString(out, pkt("# service=git-upload-pack\n")+flush); err != nil {
				return err
			}
		}
		return r.UploadPack(ctx, protocol, true, strings.NewReader(""), out)
	})
}

// Fetch answers what a client asks for that clones or fetches. An answer with objects leaves a trace, as an export does.
// A client gets its turn when it has said what it wants: one that is slow to say it keeps nobody waiting.
func (s *Server) Fetch(ctx context.Context, name, protocol string, in io.Reader, out io.Writer) error {
	asked, err := s.spool(func(w io.Writer) error {
		_, err := io.Copy(w, &bounded{in: in, left: maxRequest})
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = asked.Close() }()
	return s.serve(ctx, name, access.ActionRead, func(ctx context.Context, r served) error {
		watched := &packWatch{out: out, begins: func() error { return s.tell(ctx, r.workspace, r.head.Commit) }}
		return r.UploadPack(ctx, protocolOf(protocol), false, asked.File, watched)
	})
}

// serve lets use have the repository of a workspace to which the caller may do something.
func (s *Server) serve(ctx context.Context, name, action string, use func(ctx context.Context, r served) error) error {
	const longest = time.Hour
	w, err := s.enter(ctx, name, action)
	if err != nil {
		return err
	}
	giveBack, err := s.processes.take(ctx, s.Clock)
	if err != nil {
		return err
	}
	defer giveBack()
	r, err := s.upToDate(ctx, w.ID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	err = use(ctx, r)
	if _, ended := errors.AsType[*gitcmd.ExitError](err); ended {
		s.inspect(ctx, w.ID, r.Repository)
	}
	return err
}

// upToDate is current for somebody who does not hold the workspace's turn.
func (s *Server) upToDate(ctx context.Context, workspaceID string) (served, error) {
	release, err := s.hold(ctx, workspaceID)
	if err != nil {
		return served{}, err
	}
	defer release()
	return s.current(ctx, workspaceID)
}

// inspect looks at a copy that git could not serve from, and discards it when it is damaged: the next client gets a new one.
func (s *Server) inspect(ctx context.Context, workspaceID string, repository *gitcmd.Repository) {
	const longest = 30 * time.Second
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	if !errors.Is(repository.Check(bounded), gitcmd.ErrBroken) {
		return
	}
	s.Log.WarnContext(ctx, "the copy of a workspace's repository is damaged and is made anew", "workspace", workspaceID)
	release, err := s.hold(bounded, workspaceID)
	if err != nil {
		return
	}
	defer release()
	_ = s.discard(workspaceID)
}

// tell notes who took the definition of a workspace away.
func (s *Server) tell(ctx context.Context, w workspaces.Workspace, commit string) error {
	return s.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		return s.Definitions.Audit(ctx, tx, w.ID, envelope.Act{
			TargetType: access.SubjectWorkspaces, TargetID: w.ID,
			Payload: &catalogue.WorkspaceExported{Workspace: definitions.Ref(w), Version: catalogue.Version{Name: short(commit), Type: "git"}},
		})
	})
}

// bounded ends with an error where more follows than may.
type bounded struct {
	in   io.Reader
	left int64
}

// ErrTooMuch says that a client sent more than is read.
var ErrTooMuch = errors.New("gitserver: more was sent than is read")

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooMuch
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooMuch
	}
	return n, err
}

// gitEnded tells that git ran and refused.
func gitEnded(err error) (*gitcmd.ExitError, bool) { return errors.AsType[*gitcmd.ExitError](err) }
