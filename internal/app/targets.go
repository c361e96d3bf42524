package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// target is a service that a process can run.
type target struct {
	name string
	// needs are the parts that must be open.
	needs []string
	build func(ctx context.Context, s *services) error
}

// targets is the table of services. The gateway comes last because it needs the handlers of those beside it.
func targets() []target {
	return []target{
		{name: "workspaces", needs: []string{partDatabase, partBus, partBlobs, partGit, partSecrets}, build: buildWorkspaces},
		{name: "events", needs: []string{partDatabase, partBus, partSessions, partSecrets}, build: buildEvents},
		{name: "runtime", needs: []string{partDatabase, partBus, partSessions, partLimits, partBlobs, partSecrets}, build: buildRuntime},
		{name: "gateway", needs: []string{partDatabase, partBus, partSessions, partLimits, partBlobs, partMail}, build: buildGateway},
	}
}

// TargetNames lists what --target may name besides all.
func TargetNames() []string {
	var names []string
	for _, t := range targets() {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

func chosenTargets(names []string) ([]target, error) {
	var chosen []target
	for _, name := range names {
		if name != "all" && !slices.Contains(TargetNames(), name) {
			return nil, fmt.Errorf("TARGET: %q is not a service; allowed: all, %s", name, strings.Join(TargetNames(), ", "))
		}
	}
	for _, t := range targets() {
		if slices.Contains(names, "all") || slices.Contains(names, t.name) {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}
