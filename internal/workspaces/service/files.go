package service

import (
	"context"

	"atelier/internal/blob"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/files"
)

// Uploads are the settings of files.
type Uploads = files.Settings

// FileLinks makes the tokens of temporary links to files.
type FileLinks = files.Links

// NewFileLinks derives the key of links from the installation's internal key, so that every instance knows every link.
func NewFileLinks(internalKey string) (*FileLinks, error) { return files.NewLinks(internalKey) }

// TendBlobs is the blob store for every part of the installation that keeps contents in it: the sweep of files removes none
// at the moment at which it is stored anew. That a content is used later must be told by Deps.Referenced.
func TendBlobs(blobs blob.Store, db *sqldb.DB, clk clock.Clock) blob.Store {
	return files.Tended(blobs, db, clk)
}

// KeepFiles removes files that have ended, and contents that nothing refers to any more, until ctx ends.
func (s *Service) KeepFiles(ctx context.Context) error { return s.files.Run(ctx) }

// SweepFiles is one round of KeepFiles.
func (s *Service) SweepFiles(ctx context.Context) error { return s.files.Sweep(ctx) }

func newFiles(deps Deps) *files.Files {
	return &files.Files{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Log: deps.Log, Blobs: deps.Blobs, Links: deps.Links,
		Referenced: referenced(deps.Referenced), Settings: deps.Uploads,
	}
}
