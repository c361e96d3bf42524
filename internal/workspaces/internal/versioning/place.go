package versioning

import (
	"context"
	"time"

	"atelier/internal/gitcmd"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/repositories"
)

// latest names the newest state of a repository.
const latest = "latest"

// place is the other side of a sync: the folder of a workspace on a branch, or in a directory.
type place interface {
	// look sees where the other side is. Version is latest, a tag or a commit; tag is one that is about to be made.
	look(ctx context.Context, version, tag string) (sight, error)
	// read gives the documents that were seen.
	read(ctx context.Context, s sight) (*archive.Archive, error)
	// prepare makes what is to be sent, without sending anything.
	prepare(ctx context.Context, s sight, o outgoing) (planned, error)
	// send brings what was prepared to the other side, whole or not at all, unless that has moved since it was seen.
	send(ctx context.Context, s sight, o outgoing, p planned) error
	// arrived tells whether what was prepared is on the other side.
	arrived(ctx context.Context, p planned) (bool, error)
}

// sight is what was seen of the other side.
type sight struct {
	// Commit is the version that was asked for and Tree the workspace's folder in it: empty when there is none.
	Commit, Tree string
	// Head is the newest commit of the target branch, and HeadTree the folder in it.
	Head, HeadTree string
	// Intermediate is the head of the intermediate branch; empty when there is none.
	Intermediate string
	// TagTaken tells that the tag which is about to be made exists.
	TagTaken bool
	// Names are the files of the folder of Commit.
	Names []string

	objects map[string]string // by name, the object that a file is
}

// outgoing is what is to be sent: files of the workspace's folder by their names.
type outgoing struct {
	write  map[string][]byte
	remove []string
	// parents are those of the commit; the first is the one whose other files it keeps.
	parents []string
	author  gitcmd.Person
	when    time.Time
	message string
	// said tells that the message is somebody's own words, which are to be there even when nothing else is new.
	said bool
	tag  string
}

func (o outgoing) empty() bool { return len(o.write)+len(o.remove) == 0 }

// planned is what was prepared.
type planned struct {
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	// Head is what the target branch was, and Tag the tag that comes with the commit.
	Head string `json:"head,omitempty"`
	Tag  string `json:"tag,omitempty"`
}

// Branches are the names of the branches of a sync.
type Branches struct {
	Target       string `json:"targetBranch,omitempty" doc:"The branch that everybody works on."`
	Intermediate string `json:"intermediateBranch,omitempty" doc:"The branch on which the workspace is saved before a merge."`
}

func branchesOf(w workspaces.Workspace, r repositories.Repository) Branches {
	if r.Kind != repositories.Git {
		return Branches{}
	}
	return Branches{Target: r.Branch, Intermediate: "svc/" + w.Slug + "/" + r.Branch}
}

// open gives the other side of a sync.
func (v *Versioning) open(ctx context.Context, w workspaces.Workspace, r repositories.Repository) (place, error) {
	if r.Kind == repositories.Filesystem && r.Platform {
		return &directory{path: r.Folder, limits: v.limits()}, nil
	}
	return v.openGit(ctx, w, r)
}
