package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"atelier/internal/backup"
	"atelier/internal/config"
	"atelier/internal/ident"
)

// LockDataDir takes the data directory for this process, creating it when it does not exist. The lock goes away with the
// process, however it ends.
func LockDataDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	if err := lockFor(dir, file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

const lockFile = "atelier.lock"

func lockFor(dir string, file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a descriptor is a small number
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another Atelier process is using the data directory %s; stop it first, or choose another with --data-dir", dir)
	}
	if err != nil {
		return fmt.Errorf("lock the data directory: %w", err)
	}
	if backup.Unfinished(dir) { // looked at under the lock file: a restore that begins now finds it and gives up
		return fmt.Errorf("a backup is being restored into the data directory %s; if that was interrupted, empty the directory and restore again", dir)
	}
	return nil
}

// BlobDir is where contents are kept as files; empty when they are kept elsewhere.
func BlobDir(cfg config.Config) string {
	switch {
	case cfg.StorageType != "FILESYSTEM":
		return ""
	case cfg.StorageDir != "":
		return cfg.StorageDir
	default:
		return filepath.Join(cfg.DataDir, "blobs")
	}
}

// internalKey is the configured key, or in one process a made-up one that is kept in the data directory.
func internalKey(cfg config.Config, ids ident.Source) (string, error) {
	if key, err := knownInternalKey(cfg); key != "" || err != nil {
		return key, err
	}
	if cfg.SplitServices() {
		return "", errors.New("INTERNAL_API_KEY: set it, to the same value for every process, when services run in separate processes")
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return "", fmt.Errorf("create the data directory: %w", err)
	}
	key := ids.Secret()
	if err := writeWhole(internalKeyPath(cfg), key+"\n"); err != nil {
		return "", fmt.Errorf("keep the internal key: %w", err)
	}
	return key, nil
}

// knownInternalKey is the internal key without making one: empty when there is none yet.
func knownInternalKey(cfg config.Config) (string, error) {
	if key := cfg.InternalAPIKey.Reveal(); key != "" || cfg.SplitServices() {
		return key, nil
	}
	kept, err := os.ReadFile(internalKeyPath(cfg))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the internal key: %w", err)
	}
	return strings.TrimSpace(string(kept)), nil
}

func internalKeyPath(cfg config.Config) string { return filepath.Join(cfg.DataDir, "internal.key") }

// writeWhole writes a file whole or not at all, for its owner alone.
func writeWhole(path, text string) error {
	file, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path+".part"))
	}
	return os.Rename(path+".part", path)
}
