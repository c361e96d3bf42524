package repositories_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"atelier/internal/workspaces/internal/repositories"
)

// environ gives variables by prefix, as a process does.
func environ(variables ...string) func(string) map[string]string {
	return func(prefix string) map[string]string {
		found := map[string]string{}
		for _, variable := range variables {
			name, value, _ := strings.Cut(variable, "=")
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				found[rest] = value
			}
		}
		return found
	}
}

const at = "WORKSPACES_STORAGE_GIT_PLATFORM_"

func TestPlatformFromTheEnvironment(t *testing.T) {
	t.Parallel()
	key := sshKey(t)
	env := environ(
		at+"main_URL=https://git.example.test/all.git", at+"main_NAME=All", at+"main_BRANCH=prod", at+"main_DIRPATH=some/where", at+"main_AUTH_USER=me", at+"main_AUTH_PASSWORD=hunter2",
		at+"Main_URL=git@git.example.test:all.git", at+"Main_MODE=read-only", at+"Main_AUTH_SSHKEY="+strings.ReplaceAll(strings.TrimSpace(key), "\n", `\n`),
		at+"disk_TYPE=filesystem", at+"disk_DIRPATH=/srv/workspaces/", at+"off_URL=", at+"off_AUTH_PASSWORD=x", at+"off_BRANCH=", at+"gone_TOKEN=", at+"gone_BRANCH=",
		"WORKSPACES_GROUP_base_LABELS=team:core, stable,", "WORKSPACES_GROUP_two_words_LABELS=extra", "WORKSPACES_GROUP_none_LABELS=", "PATH=/bin",
	)
	p, problems := repositories.FromEnvironment(env, repositories.Settings{Groups: `{"extended":["more","stable"]}`, StartupGroups: []string{"base"}, StartupRepository: "main"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var ids []string
	for _, r := range p.Repositories {
		ids = append(ids, r.ID)
		if !r.Platform || !slices.Equal(r.Groups, []string{"base", "extended", "two_words"}) {
			t.Errorf("%s: %v", r.ID, r.Groups)
		}
		if filled, err := repositories.Fill(r, nil); err != nil || filled.ID != r.ID {
			t.Errorf("%s cannot be used: %v", r.ID, err)
		}
	}
	if !slices.Equal(ids, []string{"Main", "disk", "main"}) {
		t.Errorf("ids: %v", ids)
	}
	first, disk, main := p.Repositories[0], p.Repositories[1], p.Repositories[2]
	if first.Name != "Main" || first.Branch != "main" || first.Mode != repositories.ReadOnly || strings.TrimSpace(first.SSHKey) != strings.TrimSpace(key) {
		t.Errorf("Main: %v", first)
	}
	if main.Name != "All" || main.Branch != "prod" || main.Mode != repositories.ReadWrite || main.User != "me" || main.Password != "hunter2" {
		t.Errorf("main: %v", main)
	}
	if p.Folder(main, "orders") != "some/where/orders" || p.Folder(first, "orders") != "orders" || p.Folder(disk, "orders") != "/srv/workspaces/orders" {
		t.Errorf("folders: %s %s %s", p.Folder(main, "orders"), p.Folder(first, "orders"), p.Folder(disk, "orders"))
	}
	for labels, want := range map[string]string{"": "", "stable": "base extended", "extra,other": "two_words", "team:core,more": "base extended", "STABLE": ""} {
		if got := strings.Join(p.GroupsOf(strings.Split(labels, ",")), " "); got != want {
			t.Errorf("groups of %s: %s", labels, got)
		}
	}
	all, err := p.Available(index(t, "name: x\nrepositories: {own: {name: O, type: archive}, disk: {name: D, type: archive}}\n"), "orders")
	if err != nil || len(all) != 4 || all[0].ID != "own" || all[1].Platform || all[2].ID != "Main" || all[3].Folder != "some/where/orders" {
		t.Errorf("available: %v %v", all, err)
	}
	if none, problems := repositories.FromEnvironment(nil, repositories.Settings{}); len(problems) > 0 || len(none.Repositories) > 0 || none.GroupsOf([]string{"x"}) != nil {
		t.Errorf("nothing configured: %v %v", none, problems)
	}
}

func TestPlatformSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	type settings = repositories.Settings
	good := at + "main_URL=https://git.example.test/x"
	for _, test := range []struct {
		variables []string
		settings  settings
		name      string
	}{
		{[]string{at + "main_URL=http://git.example.test/x"}, settings{}, at + "main_URL"},
		{[]string{at + "main_URL=https://me:hunter2@git.example.test/x"}, settings{}, at + "main_URL"},
		{[]string{at + "main_BRANCH=x"}, settings{}, at + "main_URL"},
		{[]string{good, at + "main_BRANCH=svc/x"}, settings{}, at + "main_BRANCH"},
		{[]string{good, at + "main_DIRPATH=../x"}, settings{}, at + "main_DIRPATH"},
		{[]string{good, at + "main_MODE=hunter2"}, settings{}, at + "main_MODE"},
		{[]string{good, at + "main_TYPE=archive"}, settings{}, at + "main_TYPE"},
		{[]string{good, at + "main_TYPE=hunter2"}, settings{}, at + "main_TYPE"},
		{[]string{good, at + "main_TOKEN=hunter2"}, settings{}, at + "main_TOKEN"},
		{[]string{at + "my_repo_URL=https://git.example.test/x"}, settings{}, at + "my_repo_URL"},
		{[]string{at + "_URL=https://git.example.test/x"}, settings{}, at + "_URL"},
		{[]string{good, at + "main_AUTH_USER=me"}, settings{}, at + "main_AUTH_PASSWORD"},
		{[]string{good, at + "main_AUTH_PASSWORD=hunter2\n"}, settings{}, at + "main_AUTH_PASSWORD"},
		{[]string{good, at + "main_AUTH_SSHKEY=hunter2"}, settings{}, at + "main_AUTH_SSHKEY"},
		{[]string{at + "main_URL=git@git.example.test:x"}, settings{}, at + "main_AUTH_SSHKEY"},
		{[]string{at + "main_URL=git@git.example.test:x", at + "main_AUTH_SSHKEY=hunter2"}, settings{}, at + "main_AUTH_SSHKEY"},
		{[]string{good, at + "main_HOSTKEY=ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"}, settings{}, at + "main_HOSTKEY"},
		{[]string{at + "disk_TYPE=filesystem"}, settings{}, at + "disk_DIRPATH"},
		{[]string{at + "disk_TYPE=filesystem", at + "disk_DIRPATH=srv"}, settings{}, at + "disk_DIRPATH"},
		{[]string{at + "disk_TYPE=filesystem", at + "disk_DIRPATH=/"}, settings{}, at + "disk_DIRPATH"},
		{[]string{at + "disk_TYPE=filesystem", at + "disk_DIRPATH=/x", at + "disk_AUTH_PASSWORD=hunter2"}, settings{}, at + "disk_AUTH_PASSWORD"},
		{[]string{"WORKSPACES_GROUP_base=x"}, settings{}, "WORKSPACES_GROUP_base"},
		{[]string{"WORKSPACES_GROUP_base_LABELS=not a label"}, settings{}, "WORKSPACES_GROUP_base_LABELS"},
		{[]string{"WORKSPACES_GROUP_base_LABELS=,"}, settings{}, "WORKSPACES_GROUP_base_LABELS"},
		{[]string{"WORKSPACES_GROUP_a b_LABELS=xx"}, settings{}, "WORKSPACES_GROUP_a b_LABELS"},
		{[]string{"WORKSPACES_GROUP_base_LABELS=xx"}, settings{Groups: `{"base":["yy"]}`}, "WORKSPACES_GROUP_base_LABELS"},
		{nil, settings{Groups: "base"}, "WORKSPACE_GROUPS"},
		{nil, settings{Groups: `{"base":"xx"}`}, "WORKSPACE_GROUPS"},
		{nil, settings{Groups: `{"base":[]}`}, "WORKSPACE_GROUPS"},
		{nil, settings{Groups: `{"a/b":["xx"]}`}, "WORKSPACE_GROUPS"},
		{nil, settings{StartupRepository: "main"}, "STARTUP_IMPORT_REPOSITORY"},
		{[]string{good}, settings{StartupGroups: []string{"base"}}, "STARTUP_IMPORT_REPOSITORY"},
		{[]string{good}, settings{StartupGroups: []string{"a/b"}, StartupRepository: "main"}, "STARTUP_IMPORT_GROUPS"},
		{[]string{good, at + "main_MODE=write-only"}, settings{StartupGroups: []string{"base"}, StartupRepository: "main"}, "STARTUP_IMPORT_REPOSITORY"},
	} {
		_, problems := repositories.FromEnvironment(environ(test.variables...), test.settings)
		said := ""
		if err := errors.Join(problems...); err != nil {
			said = err.Error()
		}
		if len(problems) != 1 || !strings.HasPrefix(said, test.name+": ") || strings.Contains(said, "hunter2") {
			t.Errorf("%v %v: %s", test.variables, test.settings, said)
		}
	}
}
