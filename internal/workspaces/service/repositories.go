package service

import (
	"context"
	"errors"

	"atelier/internal/dsul"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/secrets"
)

// Platform is what the operator has configured for all workspaces: repositories and groups.
type Platform = repositories.Platform

// PlatformSettings are those settings of it that have one name.
type PlatformSettings = repositories.Settings

// ReadPlatform reads what the operator has configured. Environ gives the environment variables that begin with a prefix, by
// the rest of their names. The error names everything that is wrong, and repeats no value.
func ReadPlatform(environ func(prefix string) map[string]string, settings PlatformSettings) (Platform, error) {
	platform, problems := repositories.FromEnvironment(environ, settings)
	return platform, errors.Join(problems...)
}

// keeper looks after the repositories of workspaces that are edited: what opens them is kept as secrets.
type keeper struct {
	platform repositories.Platform
	secrets  *secrets.Secrets
}

func (k keeper) settle(ctx context.Context, e *definitions.Edit, before, after *dsul.Document) (*dsul.Document, error) {
	settled, err := k.platform.Settle(before, after)
	if err != nil || len(settled.Secrets) == 0 {
		return settled.Index, err
	}
	description := "Opens a repository of the workspace."
	drafts := make(map[string]secrets.Draft, len(settled.Secrets))
	for name, value := range settled.Secrets {
		drafts[name] = secrets.Draft{Value: &value, Description: &description}
	}
	return settled.Index, k.secrets.MergeIn(ctx, e.Tx, e.Visit, drafts)
}
