package repositories

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/workspaces"
)

// The names of the variables of the platform.
const (
	repositoryPrefix  = "WORKSPACES_STORAGE_GIT_PLATFORM_"
	groupPrefix       = "WORKSPACES_GROUP_"
	groupSuffix       = "_LABELS"
	groupsSetting     = "WORKSPACE_GROUPS"
	startupGroups     = "STARTUP_IMPORT_GROUPS"
	startupRepository = "STARTUP_IMPORT_REPOSITORY"
)

// Settings are those of the platform's repositories that have one name.
type Settings struct {
	// Groups is a JSON object of lists of labels, beside the variables of single groups.
	Groups            string
	StartupGroups     []string
	StartupRepository string
}

// FromEnvironment reads the repositories and groups of the platform. Env gives the variables that begin with a prefix, by
// the rest of their names; an empty one is not set. Everything that is wrong is reported by the name of its variable, and
// no value is repeated.
func FromEnvironment(env func(prefix string) map[string]string, settings Settings) (Platform, []error) {
	if env == nil {
		env = func(string) map[string]string { return nil }
	}
	r := &reader{}
	p := Platform{Groups: r.groups(env(groupPrefix), settings.Groups), StartupGroups: settings.StartupGroups, StartupRepository: settings.StartupRepository}
	p.Repositories = r.repositories(env(repositoryPrefix), p.GroupNames())
	r.startup(p)
	return p, r.problems
}

// reader collects what is wrong.
type reader struct{ problems []error }

// add notes what is wrong with a variable, unless nothing is.
func (r *reader) add(name, message string) {
	if message != "" {
		r.problems = append(r.problems, errors.New(shownName(name)+": "+message))
	}
}

// shownName keeps the name of a variable on one line.
func shownName(name string) string {
	return strings.Map(func(c rune) rune {
		if isControl(c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(name, "?"))
}

var (
	platformID = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,58}[A-Za-z0-9])?$`)  //nolint:gochecknoglobals // compiled once, never changed
	groupForm  = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,58}[A-Za-z0-9])?$`) //nolint:gochecknoglobals // compiled once, never changed
)

// fieldNames are what can be said of a platform repository.
func fieldNames() []string {
	return []string{"TYPE", "URL", "NAME", "BRANCH", "MODE", "DIRPATH", "AUTH_USER", "AUTH_PASSWORD", "AUTH_SSHKEY", "HOSTKEY"}
}

// repositories reads the variables by the rest of their names, {id}_{FIELD}.
func (r *reader) repositories(variables map[string]string, groups []string) (all []Repository) {
	byID := map[string]map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		id, field, _ := strings.Cut(name, "_")
		switch {
		case variables[name] == "" && field != "URL": // of which an empty one means something
		case !slices.Contains(fieldNames(), field):
			r.add(repositoryPrefix+name, "this is not a setting of a repository; write "+repositoryPrefix+"{id}_{FIELD}, where the id has no underscore and FIELD is one of "+strings.Join(fieldNames(), ", "))
		case !platformID.MatchString(id):
			r.add(repositoryPrefix+name, "the id of a repository has 1 to 60 letters, digits, dots and dashes")
		default:
			if byID[id] == nil {
				byID[id] = map[string]string{}
			}
			byID[id][field] = variables[name]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if found, ok := r.repository(id, byID[id]); ok {
			found.Groups = groups
			all = append(all, found)
		}
	}
	return all
}

// repository makes one of its fields; false when it is switched off, or wrong.
func (r *reader) repository(id string, fields map[string]string) (Repository, bool) {
	found := Repository{
		ID: id, Name: fields["NAME"], Platform: true, Kind: Kind(strings.ToLower(fields["TYPE"])), Mode: Mode(strings.ToLower(fields["MODE"])),
		URL: fields["URL"], Branch: fields["BRANCH"], Folder: fields["DIRPATH"],
		User: fields["AUTH_USER"], Password: fields["AUTH_PASSWORD"], SSHKey: asLines(fields["AUTH_SSHKEY"]), HostKey: asLines(fields["HOSTKEY"]),
	}
	found.authenticated = found.User != "" || found.Password != ""
	if found.Name == "" {
		found.Name = id
	}
	if found.Kind == "" {
		found.Kind = Git
	}
	if found.Mode == "" {
		found.Mode = ReadWrite
	}
	before := len(r.problems)
	if found.Mode != ReadWrite && found.Mode != ReadOnly && found.Mode != WriteOnly {
		r.add(variable(id, "MODE"), knownModes)
	}
	switch found.Kind {
	case Git:
		if url, named := fields["URL"]; named && url == "" {
			return found, false // an empty address switches it off
		}
		if found.Branch == "" {
			found.Branch = defaultBranch
		}
		r.git(found)
	case Filesystem:
		found.Folder = filepath.Clean(found.Folder)
		r.filesystem(found, fields)
	default:
		r.add(variable(id, "TYPE"), "this must be one of: git, filesystem")
	}
	return found, len(r.problems) == before
}

func variable(id, field string) string { return repositoryPrefix + id + "_" + field }

// asLines is a text whose line breaks were written as \n, because the variable had to be one line.
func asLines(text string) string {
	if strings.Contains(text, "\n") {
		return text
	}
	return strings.ReplaceAll(text, `\n`, "\n")
}

// git checks a git repository by the rules of all others.
func (r *reader) git(found Repository) {
	c := &checker{repository: found}
	c.check(found.Branch)
	told := map[string]bool{}
	for _, field := range slices.Concat(c.wrong, found.unusable()) {
		at := strings.TrimPrefix(field.Field, place(found.ID)+".")
		name, known := map[string]string{
			"config.url": "URL", "config.branch": "BRANCH", "config.dirpath": "DIRPATH", "config.hostKey": "HOSTKEY", "name": "NAME",
			"config.auth.user": "AUTH_USER", "config.auth.password": "AUTH_PASSWORD", "config.auth.sshkey": "AUTH_SSHKEY",
		}[at]
		if known && !told[name] { // the mode is checked for every kind
			told[name] = true
			r.add(variable(found.ID, name), inVariables(field.Message))
		}
	}
}

// inVariables says what is wrong in the words of variables.
func inVariables(message string) string {
	return strings.NewReplacer("auth.user", "AUTH_USER", "auth.password", "AUTH_PASSWORD", "auth.sshkey", "AUTH_SSHKEY").Replace(message)
}

// filesystem checks a directory of the machine.
func (r *reader) filesystem(found Repository, fields map[string]string) {
	for _, name := range []string{"URL", "AUTH_USER", "AUTH_PASSWORD", "AUTH_SSHKEY", "HOSTKEY"} {
		if fields[name] != "" {
			r.add(variable(found.ID, name), "this is for git repositories; leave it out")
		}
	}
	if !filepath.IsAbs(found.Folder) || found.Folder == string(filepath.Separator) {
		r.add(variable(found.ID, "DIRPATH"), "a directory repository needs the absolute path of a directory, which is not the root")
	}
}

// groups reads the groups from the variables of single ones and from the setting of all.
func (r *reader) groups(variables map[string]string, setting string) map[string][]string {
	groups := map[string][]string{}
	if setting != "" && json.Unmarshal([]byte(setting), &groups) != nil {
		r.add(groupsSetting, `this must be a JSON object from names to lists of labels, such as {"base":["team:core"]}`)
		groups = map[string][]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		r.group(groupsSetting, name, groups[name])
	}
	for _, rest := range slices.Sorted(maps.Keys(variables)) {
		name, ok := strings.CutSuffix(rest, groupSuffix)
		_, twice := groups[name]
		switch {
		case variables[rest] == "":
		case !ok:
			r.add(groupPrefix+rest, "this is not a setting of a group; write "+groupPrefix+"{name}"+groupSuffix)
		case twice:
			r.add(groupPrefix+rest, "the group is in "+groupsSetting+" too; leave one of them out")
		default:
			groups[name] = commaList(variables[rest])
			r.group(groupPrefix+rest, name, groups[name])
		}
	}
	return groups
}

// group checks the name and the labels of a group.
func (r *reader) group(variable, name string, labels []string) {
	if !groupForm.MatchString(name) {
		r.add(variable, "the name of a group has 1 to 60 letters, digits and . _ -")
		return
	}
	if len(labels) == 0 {
		r.add(variable, "the group "+name+" needs a label")
	}
	if err := workspaces.CheckLabels(labels); err != nil {
		for _, field := range errs.From(err).Fields {
			r.add(variable, fmt.Sprintf("group %s, %s: %s", name, field.Field, field.Message))
		}
	}
}

// startup checks what is imported when the installation starts.
func (r *reader) startup(p Platform) {
	for _, name := range p.StartupGroups {
		if !groupForm.MatchString(name) {
			r.add(startupGroups, "the name of a group has 1 to 60 letters, digits and . _ -")
		}
	}
	switch {
	case p.StartupRepository == "":
		if len(p.StartupGroups) > 0 {
			r.add(startupRepository, "must be set when "+startupGroups+" is set")
		}
	case len(r.problems) > 0:
	default:
		found, err := Find(p.Repositories, p.StartupRepository)
		if err != nil {
			r.add(startupRepository, "there is no such platform repository; set "+variable("{id}", "URL")+" for it")
		} else if found.MayPull() != nil {
			r.add(startupRepository, "the repository is "+string(found.Mode)+" and cannot be pulled from")
		}
	}
}

func commaList(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
