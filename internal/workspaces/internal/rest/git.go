package rest

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/gitserver"
)

const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
	// gitStall is how long a git client may take to send or read the next part.
	gitStall = time.Minute
)

// gitDoor serves git clients.
type gitDoor struct {
	server *gitserver.Server
	errors httpx.Errors
}

// RegisterGit adds what git clients ask for when they clone, fetch and push a workspace over HTTP.
func RegisterGit(api *restapi.API, s *gitserver.Server) {
	d := &gitDoor{server: s, errors: api.Errors()}
	for _, one := range []struct {
		id, method, path string
		scope            access.Scope
		serve            func(w http.ResponseWriter, r *http.Request) error
	}{
		{"gitRefs", http.MethodGet, "/git/{workspaceId}/info/refs", access.WorkspacesRead, d.refs},
		{"gitFetch", http.MethodPost, "/git/{workspaceId}/" + uploadPack, access.WorkspacesRead, d.fetch},
		{"gitPush", http.MethodPost, "/git/{workspaceId}/" + receivePack, access.WorkspacesWrite, d.push},
	} {
		api.Handle(restapi.Operation{ID: one.id, Method: one.method, Path: one.path, Tag: "Versions", Policy: access.Callers, Scope: one.scope}, d.handler(one.serve))
	}
}

// handler frees a request from the time that others have, and answers errors.
func (d *gitDoor) handler(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		endless, done := httpx.Endless(w, r)
		defer done()
		r = endless
		httpx.Patient(w, r, gitStall)
		out := &gitAnswer{ResponseWriter: w, connection: http.NewResponseController(w)}
		err := serve(out, r)
		switch {
		case err == nil:
		case out.begun:
			d.broke(r.Context(), err)
			panic(http.ErrAbortHandler) //nolint:forbidigo // the one way to cut an answer off
		default:
			d.refuse(w, r, err)
		}
	})
}

// broke logs that an answer ended in its middle, unless the client is the reason.
func (d *gitDoor) broke(ctx context.Context, err error) {
	if _, ended := errors.AsType[*gitcmd.ExitError](err); ended && ctx.Err() == nil {
		d.errors.Failed(ctx, "serving a git client", err)
	}
}

// refuse answers an error. Git shows its user plain text only.
func (d *gitDoor) refuse(w http.ResponseWriter, r *http.Request, err error) {
	err = gitRefusal(err)
	problem := httpx.NewProblem(r.Context(), err)
	if !strings.HasPrefix(r.UserAgent(), "git/") || problem.GetStatus() >= http.StatusInternalServerError {
		d.errors.Write(w, r, err)
		return
	}
	problem.Prepare(w.Header())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(problem.GetStatus())
	_, _ = io.WriteString(w, errs.From(err).Message+"\n")
}

// gitRefusal is what to answer when git, or the body of the request, ended before anything was answered.
func gitRefusal(err error) error {
	if _, said := errors.AsType[*errs.Error](err); said {
		return err
	}
	if _, ended := errors.AsType[*gitcmd.ExitError](err); ended {
		return errs.New(errs.InvalidRequest, "What was sent is not what git asks for.").Because(err)
	}
	if errors.Is(err, gitserver.ErrTooMuch) {
		return errs.New(errs.PayloadTooLarge, "The body is too large.").Because(err)
	}
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return errs.New(errs.InvalidRequest, "The body is not gzip, although its Content-Encoding says so.")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return httpx.BodyError(err)
	}
	return err
}

// refs answers the first question of a client: where the branch is.
func (d *gitDoor) refs(w http.ResponseWriter, r *http.Request) error {
	service := r.URL.Query().Get("service")
	w.Header().Set("Content-Type", "application/x-"+service+"-advertisement")
	switch service {
	case uploadPack:
		return d.server.AdvertiseFetch(r.Context(), r.PathValue("workspaceId"), r.Header.Get("Git-Protocol"), w)
	case receivePack:
		if err := access.CheckScope(access.WorkspacesWrite, access.From(r.Context())); err != nil {
			return err
		}
		return d.server.AdvertisePush(r.Context(), r.PathValue("workspaceId"), w)
	}
	return errs.Parameter("service", "only git-upload-pack and git-receive-pack are served; use git 1.6.6 or later")
}

func (d *gitDoor) fetch(w http.ResponseWriter, r *http.Request) error {
	if err := d.server.MayFetch(r.Context(), r.PathValue("workspaceId")); err != nil {
		return err
	}
	return exchange(w, r, uploadPack, func(body io.Reader) error {
		return d.server.Fetch(r.Context(), r.PathValue("workspaceId"), r.Header.Get("Git-Protocol"), body, w)
	})
}

func (d *gitDoor) push(w http.ResponseWriter, r *http.Request) error {
	if err := d.server.MayPush(r.Context(), r.PathValue("workspaceId")); err != nil {
		return err
	}
	return exchange(w, r, receivePack, func(body io.Reader) error {
		return d.server.Push(r.Context(), r.PathValue("workspaceId"), body, w)
	})
}

// exchange checks what a client sends, unpacks it, and lets serve answer it. What is unpacked is bounded by who reads it.
func exchange(w http.ResponseWriter, r *http.Request, service string, serve func(body io.Reader) error) error {
	if kind := "application/x-" + service + "-request"; r.Header.Get("Content-Type") != kind {
		return errs.Newf(errs.InvalidRequest, "Send %s.", kind).WithStatus(http.StatusUnsupportedMediaType)
	}
	w.Header().Set("Content-Type", "application/x-"+service+"-result")
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		return serve(r.Body)
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		return serve(unpacked)
	}
	return errs.New(errs.InvalidRequest, "The Content-Encoding is not known; send gzip, or none.").WithStatus(http.StatusUnsupportedMediaType)
}

// gitAnswer is an answer to a git client: it knows whether it has begun, and drops a client that does not read it.
type gitAnswer struct {
	http.ResponseWriter

	connection *http.ResponseController
	begun      bool
}

// Write implements io.Writer.
func (a *gitAnswer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.Header().Set("Cache-Control", "no-cache, max-age=0, must-revalidate")
	}
	_ = a.connection.SetWriteDeadline(clock.System{}.Now().Add(gitStall)) // connections know the machine's time only
	n, err := a.ResponseWriter.Write(p)
	if err == nil {
		err = a.connection.Flush()
	}
	return n, err
}
