package blob

import "errors"

// ErrCorrupt says that the stored bytes are no longer those the hash names. Reading a whole blob ends with it before the
// last bytes are handed out, so nobody takes damaged content for complete.
var ErrCorrupt = errors.New("blob: stored content is damaged")
