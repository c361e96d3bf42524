package dsul

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// versionPattern also knows the longer names that publishing makes by itself.
var versionPattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) //nolint:gochecknoglobals // compiled once

// instance checks an app instance. Its config follows the app, which is not known here.
func (c *checker) instance(root *yaml.Node) {
	shape(fields{
		"appSlug!": slugOf, "appName": localized, "appVersion": version, "slug": slugOf, "disabled": flag, "labels": labels(), "config": free,
		"id~": nil, "workspaceId~": nil, "checksum~": nil, "createdAt~": nil, "createdBy~": nil, "updatedAt~": nil, "updatedBy~": nil,
		"automations~": nil, "events~": nil, "blocks~": nil, "photo~": nil, "permissions~": nil,
	})(c, nil, root)
}

func version(c *checker, at *where, n *yaml.Node) {
	if c.isWords(at, n) && !versionPattern.MatchString(n.Value) {
		c.mind(at, n, "bad_version", "the name of a version has letters, digits and _ . -")
	}
}
