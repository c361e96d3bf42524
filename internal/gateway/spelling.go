package gateway

import "strings"

const apiKeys = "apikeys"

// spelledKeys writes the API keys of a workspace the way the service does. Documents also call them apiKeys.
func spelledKeys(path string) string {
	if !strings.Contains(path, "/security/") {
		return path
	}
	const segments = 7 // "", v2, workspaces, the id, security, apikeys, and whatever follows
	parts := strings.SplitN(path, "/", segments)
	if len(parts) < segments-1 || parts[2] != "workspaces" || parts[4] != "security" {
		return path
	}
	if written := parts[5]; len(written) != len(apiKeys) || !strings.EqualFold(written, apiKeys) { // other letters that fold to ours are longer
		return path
	}
	parts[5] = apiKeys
	return strings.Join(parts, "/")
}
