package gitserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// fetchFirst is what git says of a branch that has something which the client has not.
const fetchFirst = "fetch first"

// AdvertisePush answers a client that begins to push, for a caller that may update the workspace.
func (s *Server) AdvertisePush(ctx context.Context, name string, out io.Writer) error {
	return s.serve(ctx, name, access.ActionUpdate, func(_ context.Context, r served) error {
		_, err := io.WriteString(out, pkt("# service=git-receive-pack\n")+flush+pkt(r.head.Commit+" "+branch+"\x00"+capabilities+"\n")+flush)
		return err
	})
}

// Push takes what a client pushes, for a caller that may update the workspace: it becomes the content of the workspace in one
// step, or it is refused with the reasons. What is refused for being wrong is no error here: the client reads why.
func (s *Server) Push(ctx context.Context, name string, in io.Reader, out io.Writer) error {
	w, err := s.enter(ctx, name, access.ActionUpdate)
	if err != nil {
		return err
	}
	asked, err := readPush(in)
	if err != nil {
		return err
	}
	if len(asked.commands) == 0 { // it only tries whether it may
		_, err := io.WriteString(out, flush)
		return err
	}
	told := &answer{push: asked}
	if err := s.push(ctx, w, in, told); err != nil {
		return err
	}
	return told.write(out)
}

// push takes the pack and applies what is asked for.
func (s *Server) push(ctx context.Context, w workspaces.Workspace, in io.Reader, told *answer) error {
	wanted := told.push.screen()
	if !told.push.hasPack() {
		return nil
	}
	if wanted == nil {
		s.drain(in)
		return nil
	}
	pack, err := s.spool(func(to io.Writer) error {
		_, err := io.Copy(to, &bounded{in: in, left: s.MaxPush})
		return err
	})
	if errors.Is(err, ErrTooMuch) {
		s.drain(in)
		told.unpack = fmt.Sprintf("the pack is larger than %d bytes", s.MaxPush)
		wanted.refused = "the pack is too large"
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = pack.Close() }()
	failpoint.At("git.received")
	const longest = 10 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return settled(s.apply(ctx, w, wanted, pack, told), wanted, told)
}

// drain reads the rest of what a client sends, up to a point: before it has sent all it does not read why it was refused.
func (s *Server) drain(in io.Reader) { _, _ = io.Copy(io.Discard, io.LimitReader(in, 4*s.MaxPush)) }

// settled makes a refusal out of an error that is the client's to hear; our own faults stay errors.
func settled(err error, wanted *command, told *answer) error {
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*gitcmd.Problem](err); ok {
		told.say(problem.Message)
		told.unpack, wanted.refused = problem.Message, "the pack was not taken"
		return nil
	}
	if _, ok := errors.AsType[*stale](err); ok {
		told.say("The workspace was changed since you fetched: pull, then push again.")
		wanted.refused = fetchFirst
		return nil
	}
	refusal, ok := errors.AsType[*errs.Error](err)
	if !ok || refusal.Status() >= http.StatusInternalServerError {
		return err
	}
	wanted.refused = told.refuse(refusal)
	return nil
}

// refuse tells why a push was refused, each thing that is wrong on a line of its own, and gives it in short.
func (a *answer) refuse(refusal *errs.Error) string {
	const most = 50
	fields := refusal.Fields
	if len(fields) == 0 {
		said := refusal.Message
		if reason, _ := refusal.Details["reason"].(string); refusal.Code == errs.Locked && reason != "" {
			said += " (" + reason + ")"
		}
		a.say("The push was refused: " + said)
		return said
	}
	a.say("The push was refused:")
	for _, field := range fields[:min(len(fields), most)] {
		a.say(field.Field + ": " + field.Message)
	}
	if len(fields) > most {
		a.say(fmt.Sprintf("and %d more", len(fields)-most))
	}
	if len(fields) == 1 {
		return fields[0].Field + ": " + fields[0].Message
	}
	return fmt.Sprintf("%d things are wrong with it", len(fields))
}

// stale says that the branch is not where the client believes it is.
type stale struct{}

// Error implements error.
func (*stale) Error() string { return fetchFirst }

// apply makes a pushed commit the head of the branch and its documents those of the workspace.
func (s *Server) apply(ctx context.Context, w workspaces.Workspace, wanted *command, pack io.Reader, told *answer) error {
	giveBack, err := s.processes.take(ctx, s.Clock)
	if err != nil {
		return err
	}
	defer giveBack()
	release, err := s.hold(ctx, w.ID)
	if err != nil {
		return err
	}
	defer release()
	now, err := s.current(ctx, w.ID)
	if err != nil {
		return err
	}
	if wanted.before != now.head.Commit {
		return &stale{}
	}
	if wanted.after == now.head.Commit {
		return nil
	}
	quarantine, err := now.Receive(ctx, pack, s.MaxPush)
	if err != nil {
		return err
	}
	defer quarantine.Drop()
	p := &pushed{served: now, quarantine: quarantine, commit: wanted.after}
	if err := s.check(ctx, p); err != nil {
		return err
	}
	failpoint.At("git.checked")
	if p.pack, err = s.keepPushed(ctx, p); err != nil {
		return err
	}
	if err := s.store(ctx, p, told); err != nil {
		return err
	}
	failpoint.At("git.applied")
	return s.after(ctx, p, told)
}

// pushed is a commit that is being applied.
type pushed struct {
	served

	quarantine *gitcmd.Quarantine
	commit     string
	// files are the documents of the commit.
	files *archive.Archive
	pack  store.GitPack
}

// keepPushed stores the pack of what was pushed, unless the history becomes too large.
func (s *Server) keepPushed(ctx context.Context, p *pushed) (store.GitPack, error) {
	packs, err := store.GitPacks(ctx, s.DB, p.workspace.ID)
	if err != nil {
		return store.GitPack{}, err
	}
	pack, err := s.keep(ctx, p.quarantine.Repository, p.commit, p.head.Commit)
	if exit, ended := errors.AsType[*gitcmd.ExitError](err); ended { // something that the commit leads to is not there
		return pack, errs.New(errs.InvalidRequest, "What was pushed is not complete; push again.").Because(exit)
	}
	if err == nil && total(packs)+pack.Size > maxHistory {
		return pack, errs.Newf(errs.PayloadTooLarge, "The history of a workspace may have at most %d bytes.", maxHistory)
	}
	return pack, err
}

// store applies the documents, and moves the branch, in one transaction.
func (s *Server) store(ctx context.Context, p *pushed, told *answer) error {
	version := short(p.commit)
	from := &archive.Archive{Files: p.files.Files, Import: &archive.ImportInfo{Version: archive.VersionInfo{Type: "git", Name: version}}}
	// Nothing is under way for longer than the transaction, so no lock is taken; one that somebody holds is respected.
	result, err := s.Archives.Pull(ctx, &definitions.Operation{Workspace: p.workspace}, from, archives.Pulled{
		Reslug: true, Note: "push of " + version,
		Expect: func(w workspaces.Workspace) error {
			if w.ContentRevision != p.workspace.ContentRevision {
				return &stale{}
			}
			return nil
		},
		Also: func(ctx context.Context, tx *sqldb.Tx, after workspaces.Workspace, result *archives.Result) error {
			if err := whole(result); err != nil {
				return err
			}
			// What the workspace made of it is looked at afterwards.
			moved, err := store.MoveGitHead(ctx, tx, after.ID, p.head.Commit, store.GitHead{Commit: p.commit}, s.Clock.Now())
			if err != nil {
				return err
			}
			if !moved {
				return &stale{}
			}
			if err := store.AddGitPack(ctx, tx, after.ID, p.pack, s.Clock.Now()); err != nil {
				return err
			}
			failpoint.At("git.applying")
			return nil
		},
	})
	if err != nil {
		return err
	}
	s.report(told, p, result)
	return nil
}

// whole refuses a push of which something cannot be applied: whoever may not change a part hears it, instead of finding
// later that it was left out.
func whole(result *archives.Result) error {
	var wrong []errs.Field
	for _, finding := range result.Findings {
		if finding.Path == string(dsul.Security) || finding.Err == "SlugAlreadyInUse" {
			wrong = append(wrong, errs.Field{Field: finding.Path, Message: finding.Msg})
		}
	}
	if wrong == nil {
		return nil
	}
	return errs.Invalid(wrong...)
}

// report tells what a push did.
func (s *Server) report(told *answer, p *pushed, result archives.Result) {
	const most = 20
	told.say(fmt.Sprintf("%s: %s written, %s deleted.", p.workspace.Slug, counted(len(result.Imported)), counted(len(result.Deleted))))
	shown := 0
	for _, finding := range result.Findings {
		if shown == most {
			told.say("There are more findings; the linter of the workspace tells them.")
			return
		}
		shown++
		line := finding.Path
		if finding.Line > 0 {
			line += fmt.Sprintf(" line %d", finding.Line)
		}
		told.say(strings.TrimPrefix(line+": "+finding.Msg, ": "))
	}
}

func counted(n int) string {
	if n == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", n)
}

// after gives the copy what was pushed, and makes the commit of what the workspace made of it, when that is something else.
// The push is done by then: whatever fails here is made up for by the next client.
func (s *Server) after(ctx context.Context, p *pushed, told *answer) error {
	const longest = time.Minute
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	err := p.quarantine.Keep()
	if err == nil {
		err = p.SetRef(ctx, branch, p.commit)
	}
	var now served
	if err == nil {
		now, err = s.current(ctx, p.workspace.ID)
	}
	if err != nil {
		s.Log.WarnContext(ctx, "the copy of a workspace's repository could not be brought up to date", "workspace", p.workspace.ID, "error", err.Error())
		return nil
	}
	if now.head.Commit != p.commit {
		told.say("The workspace made something else of it: pull to see the commit " + short(now.head.Commit) + ".")
	}
	if now.workspace.Slug != p.workspace.Slug {
		told.say("The workspace is at /git/" + now.workspace.Slug + " now.")
	}
	return nil
}
