// Package config reads the configuration: built-in default, then the file named by ATELIER_CONFIG, then the environment,
// then flags; the later wins. Nothing else in the product reads the environment.
package config

import "atelier/internal/vault"

// Secret is a value that is never shown: it prints, logs and encodes as ***.
type Secret = vault.Secret
