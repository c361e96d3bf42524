package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// How many workspaces a bulk operation of the measurement has, and how many documents each of them.
const (
	fleet     = 100
	documents = 20
)

// measureBulk measures bulk operations alone.
func measureBulk(ctx context.Context, binary string) error {
	dir, err := os.MkdirTemp("", "atelier-load-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	return bulk(ctx, dir, binary)
}

// bulk measures bulk operations against plain git, on the same git server: the same commits by hash-object, mktree,
// commit-tree and push, and for the import a clone of which each folder becomes a commit of a repository of its own.
func bulk(ctx context.Context, dir, binary string) error {
	git, err := startGit(filepath.Join(dir, "git"))
	if err != nil {
		return err
	}
	defer git.stop()
	product, err := git.startProduct(ctx, dir, binary, "pushing")
	if err != nil {
		return err
	}
	defer product.stop()
	fmt.Printf("\n%d workspaces of %d documents, against plain git on the same server\n", fleet, documents)
	for i := range fleet {
		archive, err := smallArchive(i)
		if err != nil {
			return err
		}
		if err := product.exchange(ctx, request{method: http.MethodPost, path: "/v2/workspaces/import", kind: "application/zip", body: archive}, nil); err != nil {
			return err
		}
	}
	const path = "/v2/workspaces/platform/versions"
	plainPush, err := timed(func() error { return git.plainPush(ctx) })
	if err != nil {
		return err
	}
	if err := compareBulk(ctx, "bulk push", product, plainPush, path, `{"groups":["all"],"name":"v1"}`); err != nil {
		return err
	}
	plainImport, err := timed(func() error { return git.plainImport(ctx) })
	if err != nil {
		return err
	}
	other, err := git.startProduct(ctx, dir, binary, "importing") // another installation, without any of them
	if err != nil {
		return err
	}
	defer other.stop()
	return compareBulk(ctx, "bulk import", other, plainImport, path+"/latest/pull", `{"repository":{"id":"hub"}}`)
}

// compareBulk runs a bulk operation and prints how it compares.
func compareBulk(ctx context.Context, name string, product *process, plain time.Duration, path, body string) error {
	before := product.memory()
	var done struct {
		Processing bool  `json:"processing"`
		Errors     []any `json:"errors"`
		Workspaces []any `json:"workspaces"`
	}
	took, err := timed(func() error {
		return product.exchange(ctx, request{method: http.MethodPost, path: path + "?timeout=55", kind: "application/json", body: []byte(body)}, &done)
	})
	if err != nil {
		return err
	}
	if done.Processing || len(done.Errors) > 0 || len(done.Workspaces) != fleet {
		return fmt.Errorf("%s: %+v", name, done)
	}
	fmt.Printf("%-24s %10v, plain git %10v: %.2f times (target: 3), memory +%.1f MiB\n", name, took.Round(time.Millisecond), plain.Round(time.Millisecond),
		took.Seconds()/plain.Seconds(), product.memory()-before)
	return nil
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

// plainPush makes a commit for each workspace and pushes it, as a script would.
func (g *gitServer) plainPush(ctx context.Context) error {
	clone := filepath.Join(g.dir, "plain-clone.git")
	if _, err := g.git(ctx, "", nil, "init", "--quiet", "--bare", clone); err != nil {
		return err
	}
	parent, root := "", map[string]string{}
	for i := range fleet {
		folder, err := g.writeFolder(ctx, clone, i)
		if err != nil {
			return err
		}
		root[fmt.Sprintf("load-%d", i)] = folder
		if parent, err = g.commitRoot(ctx, clone, root, parent); err != nil {
			return err
		}
		branch := fmt.Sprintf("svc/load-%d/main", i)
		if _, err := g.git(ctx, clone, nil, "push", "--quiet", "--atomic", g.url("plain"), parent+":refs/heads/main", parent+":refs/heads/"+branch,
			fmt.Sprintf("%s:refs/tags/load-%d/v1", parent, i)); err != nil {
			return err
		}
	}
	return nil
}

// writeFolder stores the documents of a workspace and gives the tree of its folder.
func (g *gitServer) writeFolder(ctx context.Context, repository string, i int) (string, error) {
	var paths strings.Builder
	for j := range documents {
		text := indexOf(i)
		if j > 0 {
			text = document(i, j)
		}
		path := filepath.Join(g.dir, fmt.Sprintf("file-%02d.yml", j))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		paths.WriteString(path + "\n")
	}
	made, err := g.git(ctx, repository, []byte(paths.String()), "hash-object", "-w", "--stdin-paths")
	if err != nil {
		return "", err
	}
	blobs := strings.Fields(made)
	var automations strings.Builder
	for j := 1; j < documents; j++ {
		fmt.Fprintf(&automations, "100644 blob %s\tautomation-%02d.yml\n", blobs[j], j)
	}
	below, err := g.git(ctx, repository, []byte(automations.String()), "mktree")
	if err != nil {
		return "", err
	}
	return g.git(ctx, repository, []byte("040000 tree "+below+"\tautomations\n100644 blob "+blobs[0]+"\tindex.yml\n"), "mktree")
}

// commitRoot makes the commit of all folders on top of the last one.
func (g *gitServer) commitRoot(ctx context.Context, repository string, folders map[string]string, parent string) (string, error) {
	var lines strings.Builder
	for name, tree := range folders {
		fmt.Fprintf(&lines, "040000 tree %s\t%s\n", tree, name)
	}
	tree, err := g.git(ctx, repository, []byte(lines.String()), "mktree")
	if err != nil {
		return "", err
	}
	arguments := []string{"commit-tree", "-m", "version", tree}
	if parent != "" {
		arguments = append(arguments, "-p", parent)
	}
	return g.git(ctx, repository, nil, arguments...)
}

// plainImport clones, and makes a commit of each folder in a repository of its own.
func (g *gitServer) plainImport(ctx context.Context) error {
	clone := filepath.Join(g.dir, "plain-import.git")
	if _, err := g.git(ctx, "", nil, "clone", "--quiet", "--bare", g.url("plain"), clone); err != nil {
		return err
	}
	for i := range fleet {
		own := filepath.Join(g.dir, fmt.Sprintf("own-%d.git", i))
		if _, err := g.git(ctx, "", nil, "init", "--quiet", "--bare", own); err != nil {
			return err
		}
		listed, err := g.git(ctx, clone, nil, "ls-tree", "-r", fmt.Sprintf("main:load-%d", i))
		if err != nil {
			return err
		}
		var objects strings.Builder
		for line := range strings.Lines(listed) {
			objects.WriteString(strings.Fields(line)[2] + "\n")
		}
		if _, err := g.git(ctx, clone, []byte(objects.String()), "cat-file", "--batch"); err != nil {
			return err
		}
		tree, err := g.writeFolder(ctx, own, i)
		if err != nil {
			return err
		}
		commit, err := g.git(ctx, own, nil, "commit-tree", "-m", "import", tree)
		if err != nil {
			return err
		}
		if _, err := g.git(ctx, own, nil, "update-ref", "refs/heads/main", commit); err != nil {
			return err
		}
	}
	return nil
}

// git runs git as a script would and gives what it printed.
func (g *gitServer) git(ctx context.Context, repository string, in []byte, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", arguments...)
	cmd.Dir, cmd.Stdin = repository, bytes.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_SSL_CAINFO="+g.ca, "GIT_AUTHOR_NAME=Load", "GIT_AUTHOR_EMAIL=load@example.test", "GIT_COMMITTER_NAME=Load", "GIT_COMMITTER_EMAIL=load@example.test")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", errors.Join(fmt.Errorf("git %s: %s", arguments[0], complaints.String()), err)
	}
	return strings.TrimSpace(string(out)), nil
}
