package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"atelier/internal/dsul"
)

// ImportInfo is what .import.yml says about the workspace beside it.
type ImportInfo struct {
	// WorkspaceID is the id the workspace had where it was exported.
	WorkspaceID string
	// Version tells which version this is and when it left or came.
	Version VersionInfo
	// Groups are the groups the workspace belongs to.
	Groups []string
	// DependsOn are what has to be imported before, each written app/{appSlug}.
	DependsOn []string
	// App is the app that the workspace publishes, nil when it does not.
	App *AppInfo
	// Checksums are those of the files when they were exported: by kind, then by slug.
	Checksums map[string]map[string]string
	// Notes say what was left out when the file was read. They are never written.
	Notes []string
}

// VersionInfo is the version of an exported workspace.
type VersionInfo struct {
	// Type is export, or import once it has been imported.
	Type string
	// Name is the name of the version.
	Name string
	// ExportedAt and ImportedAt are nil when unknown.
	ExportedAt, ImportedAt *time.Time
}

// AppInfo is the app that a workspace publishes.
type AppInfo struct{ Slug, Name, Description string }

// checksumPrefix is how a checksum begins.
const checksumPrefix = "sha256:"

// Checksum is that of a file's bytes.
func Checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return checksumPrefix + hex.EncodeToString(sum[:])
}

// with is the info with the checksums of these files.
func (i *ImportInfo) with(files []File) *ImportInfo {
	sums := map[string]map[string]string{}
	for _, file := range files {
		kind, slug, ok := dsul.SplitPath(file.Path)
		if !ok || kind.Single() {
			continue
		}
		if sums[string(kind)] == nil {
			sums[string(kind)] = map[string]string{}
		}
		sums[string(kind)][slug] = file.sum()
	}
	other := *i
	other.Checksums = sums
	return &other
}

// Verify holds files against the checksums: a file that was changed since is an error, one that is gone a warning. Files
// without a checksum are fine. The caller decides what follows from it.
func (i *ImportInfo) Verify(files []File) dsul.Problems {
	texts := make(map[string][]byte, len(files))
	for _, file := range files {
		texts[file.Path] = file.Text
	}
	var found dsul.Problems
	for _, kind := range slices.Sorted(maps.Keys(i.Checksums)) {
		for _, slug := range slices.Sorted(maps.Keys(i.Checksums[kind])) {
			document := kind + "/" + slug
			text, present := texts[document]
			switch {
			case !present:
				found = append(found, dsul.Problem{
					Document: document, Severity: dsul.SeverityWarning, Code: "checksum_without_file",
					Message: importName + " has a checksum of this file, but the file is not there",
				})
			case Checksum(text) != i.Checksums[kind][slug]:
				found = append(found, dsul.Problem{
					Document: document, Severity: dsul.SeverityError, Code: "checksum_mismatch",
					Message: "the file is not the one that was exported: its checksum in " + importName + " is another",
				})
			}
		}
	}
	return found
}
