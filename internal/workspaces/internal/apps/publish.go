package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/dsul/builtin"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/store"
)

// maxVersions is how many versions an app keeps; the oldest that nobody uses go.
const maxVersions = 1000

var versionForm = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,15}$`) //nolint:gochecknoglobals // compiled once, never changed

// Publication is what a caller wants to publish.
type Publication struct {
	// Workspace names the workspace; Version is a native version of it, what it is now when empty.
	Workspace, Version string
	// Slug is that of the app: needed the first time, and the same ever after.
	Slug string
	// Name is what the app is called, the name of the workspace when empty.
	Name string
	// As is the name of the app's new version, made from the day when empty; Description says what is new in it.
	As          string
	Description json.RawMessage
	// Changed publishes nothing when the newest version has the same documents.
	Changed bool
}

// check refuses what cannot be published whatever the workspace is.
func (p Publication) check() error {
	var fields []errs.Field
	if p.Slug != "" && (!dsul.ValidSlug(p.Slug) || strings.Contains(p.Slug, "/")) {
		fields = append(fields, errs.Field{Field: "slug", Message: "use letters, digits, - and _, and spaces between them, at most 100 characters"})
	}
	if p.As != "" && (!versionForm.MatchString(p.As) || strings.EqualFold(p.As, Current)) {
		fields = append(fields, errs.Field{Field: "version", Message: "use 1 to 15 letters, digits and _ . -; current is the name of the newest version"})
	}
	if !isText(p.Description) {
		fields = append(fields, errs.Field{Field: "description", Message: "use a text, or an object of texts by language"})
	}
	if len(fields) > 0 {
		return errs.Invalid(fields...)
	}
	return nil
}

// isText tells whether JSON is a text, texts by language, or nothing.
func isText(text json.RawMessage) bool {
	var one string
	var several map[string]string
	return len(text) == 0 || json.Unmarshal(text, &one) == nil || json.Unmarshal(text, &several) == nil
}

// publishing is a publication on its way.
type publishing struct {
	Publication

	a     *Apps
	tx    *sqldb.Tx
	visit *door.Visit
	w     workspaces.Workspace
	first bool
	app   App
	files []definitions.File
}

// Publish copies the documents of a workspace as the next version of its app, and tells whether it is the first.
func (a *Apps) Publish(ctx context.Context, p Publication) (app App, first bool, err error) {
	if err := p.check(); err != nil {
		return App{}, false, err
	}
	if p.Version == "" {
		p.Version = Current
	}
	if string(p.Description) == "null" {
		p.Description = nil
	}
	if builtin.Taken(p.Slug) {
		return App{}, false, slugTaken(p.Slug)
	}
	err = a.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		one := &publishing{Publication: p, a: a, tx: tx}
		for _, step := range []func(context.Context) error{one.enter, one.find, one.read, one.write} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		app, first = one.app, one.first
		return nil
	})
	if sqldb.IsUnique(err) {
		err = slugTaken(p.Slug) // by somebody who published at the same moment
	}
	return app, first, err
}

// enter holds the workspace, so that nobody changes it meanwhile.
func (p *publishing) enter(ctx context.Context) (err error) {
	if p.visit, err = p.a.Definitions.Door.May(ctx, p.tx, p.Workspace, access.ActionUpdate); err != nil {
		return err
	}
	if p.w, err = store.Hold(ctx, p.tx, p.visit.Workspace.ID); err != nil {
		return err
	}
	if p.w.Lock.Held(p.a.Definitions.Clock.Now()) {
		return definitions.Locked(p.w.Lock)
	}
	return nil
}

// find looks for the app that the workspace publishes already, and checks what the caller may do with it.
func (p *publishing) find(ctx context.Context) (err error) {
	p.app, err = ofWorkspace(ctx, p.tx, p.w.ID)
	if err != nil && !sqldb.IsNotFound(err) {
		return err
	}
	if err == nil {
		if err := p.visit.CheckObject(access.ActionUpdate, access.SubjectApps, p.app.fields()); err != nil {
			return err
		}
		if p.Slug != "" && p.Slug != p.app.Slug {
			return errs.Invalid(errs.Field{Field: "slug", Message: fmt.Sprintf("the workspace publishes the app %s; the slug of an app cannot change", p.app.Slug)})
		}
		p.app.Versions, err = versions(ctx, p.tx, p.app.Slug)
		return err
	}
	p.first = true
	p.app = App{Slug: p.Slug, WorkspaceID: p.w.ID, WorkspaceSlug: p.w.Slug, CreatedAt: p.a.Definitions.Now(), CreatedBy: definitions.Author(ctx)}
	p.app.Outline = Outline{Name: p.w.Name, Labels: p.w.Labels}
	if err := p.visit.CheckObject(access.ActionCreate, access.SubjectApps, p.app.fields()); err != nil {
		return err
	}
	if p.Slug == "" {
		return errs.Invalid(errs.Field{Field: "slug", Message: "a new app needs a slug, by which others install it"})
	}
	if used, err := taken(ctx, p.tx, p.Slug); err != nil || used {
		if err == nil {
			err = slugTaken(p.Slug)
		}
		return err
	}
	return nil
}

func slugTaken(slug string) error {
	return errs.Newf(errs.AlreadyExists, "There is an app %q already, or one that differs in case alone; choose another slug.", slug).
		With("subjectType", access.SubjectApps).With("slug", slug)
}

// read reads what is to be published. The rules of the workspace are its own: they are no part of the app.
func (p *publishing) read(ctx context.Context) error {
	files, err := p.a.Definitions.Files(ctx, p.tx, p.w.ID, p.Version)
	if errs.CodeOf(err) == errs.NotFound {
		return errs.Invalid(errs.Field{Field: "workspaceVersion", Message: "the workspace has no such version"})
	}
	if err != nil {
		return err
	}
	p.files = slices.DeleteFunc(files, func(f definitions.File) bool { return f.Path == string(dsul.Security) })
	if p.app.Outline, err = outlineOf(p.files); err != nil {
		return err
	}
	if p.Name != "" {
		p.app.Outline.Name = p.Name
	}
	if p.app.Outline.Name == "" {
		p.app.Outline.Name = p.w.Name
	}
	if err := p.app.Outline.lacking(); err != nil {
		return err
	}
	found, endless, err := inside(ctx, p.tx, p.app.Slug, p.app.Outline.Uses)
	if err != nil || found == nil && !endless {
		return err
	}
	return recursive("workspaceId", p.app.Slug, found)
}

// recursive says that an app would contain itself.
func recursive(field, slug string, found way) error {
	message := "it uses too many other apps inside each other"
	if found != nil {
		message = fmt.Sprintf("it contains the app %s, which would contain itself: %s", slug, strings.Join(found, " > "))
	}
	return errs.Invalid(errs.Field{Field: field, Message: message})
}

// write stores the version with its texts, and tells of it.
func (p *publishing) write(ctx context.Context) error {
	tree := make([]store.Entry, 0, len(p.files))
	for _, file := range p.files {
		if _, err := store.PutText(ctx, p.tx, owner(p.app.Slug), file.Text); err != nil {
			return err
		}
		tree = append(tree, file.Entry)
	}
	version := Version{Name: p.As, Description: string(p.Description), CreatedAt: p.a.Definitions.Now(), CreatedBy: definitions.Author(ctx), number: 1}
	if err := p.number(&version); err != nil {
		return err
	}
	var err error
	if version.tree, err = store.PutTree(ctx, p.tx, owner(p.app.Slug), tree); err != nil {
		return err
	}
	if p.Changed && !p.first && version.tree == p.app.Versions[0].tree {
		return nil
	}
	known, err := json.Marshal(p.app.Outline)
	if err != nil {
		return err
	}
	if version.outline, err = store.PutText(ctx, p.tx, owner(p.app.Slug), known); err != nil {
		return err
	}
	if err := putVersion(ctx, p.tx, p.app.Slug, version); err != nil {
		return err
	}
	p.app.Versions = append([]Version{version}, p.app.Versions...)
	p.app.Version, p.app.UpdatedAt, p.app.UpdatedBy = version.Name, version.CreatedAt, version.CreatedBy
	if err := put(ctx, p.tx, p.app); err != nil {
		return err
	}
	if err := p.makeRoom(ctx); err != nil {
		return err
	}
	return p.a.Definitions.Emit(ctx, p.tx, p.w.ID, &catalogue.AppPublished{AppSlug: p.app.Slug, App: p.app.facts()})
}

// number gives the version its place among the others, and a name when it has none.
func (p *publishing) number(v *Version) error {
	used := make(map[string]bool, len(p.app.Versions))
	today := 0
	day := dayOf(v.CreatedAt)
	for _, other := range p.app.Versions {
		used[other.Name] = true
		if dayOf(other.CreatedAt) == day {
			today++
		}
		v.number = max(v.number, other.number+1)
	}
	for n := today + 1; v.Name == ""; n++ {
		if name := fmt.Sprintf("%s.%d-%d", day, n, v.CreatedAt.UnixMilli()); !used[name] {
			v.Name = name
		}
	}
	if used[v.Name] {
		return errs.Newf(errs.AlreadyExists, "The app has a version %q already; choose another name.", v.Name).
			With("subjectType", "versions").With("version", v.Name)
	}
	return nil
}

func dayOf(t time.Time) string { return fmt.Sprintf("%d-%d-%d", t.Month(), t.Day(), t.Year()) }

// makeRoom removes the oldest versions that nobody uses when there are too many. When all are used there is no room.
func (p *publishing) makeRoom(ctx context.Context) error {
	if len(p.app.Versions) <= maxVersions {
		return nil
	}
	all, err := instances(ctx, p.tx, p.app.Slug)
	if err != nil {
		return err
	}
	used := map[string]bool{p.app.Version: true}
	for _, one := range all {
		used[one.version] = true
	}
	for i, v := range slices.Backward(p.app.Versions) {
		if used[v.Name] {
			continue
		}
		if err := deleteVersion(ctx, p.tx, p.app.Slug, v.Name); err != nil {
			return err
		}
		p.app.Versions = slices.Delete(p.app.Versions, i, i+1)
		return sweep(ctx, p.tx, p.app.Slug, v, p.app.Versions)
	}
	return errs.Newf(errs.QuotaExceeded, "An app has at most %d versions, and every one of this is in use.", maxVersions)
}
