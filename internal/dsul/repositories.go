package dsul

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

var repositoryPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,58}[A-Za-z0-9_-])?$`) //nolint:gochecknoglobals // compiled once

// repositories is the rule of where a workspace is pushed to and pulled from. An import keeps whatever stands there, and is
// warned: it is in use only where it is right.
func repositories(c *checker, at *where, n *yaml.Node) {
	strict := &checker{mode: Strict, document: c.document}
	strict.repositories(at, n)
	for _, problem := range strict.problems {
		if c.mode == Strict {
			c.report(problem)
		} else if problem.Code != "server_owned" {
			problem.Severity = SeverityWarning
			c.report(problem)
		}
	}
}

func (c *checker) repositories(at *where, n *yaml.Node) {
	one := shape(fields{
		"name?": title, "type": oneOf("git", "archive"), "mode": oneOf("read-write", "read-only", "write-only"),
		"config": shape(fields{
			"url": words, "branch": words, "dirpath": words, "hostKey": words,
			"auth": shape(fields{"user": words, "password": hidden, "sshkey": hidden}),
		}),
		"pull":    shape(fields{"exclude": list(shape(fields{"path?": words}))}),
		"groups~": nil,
	})
	if !c.isMap(at, n) {
		return
	}
	for _, e := range entries(n) {
		inside := at.at(e.key)
		if !repositoryPattern.MatchString(e.key) {
			c.mind(inside, e.at, "bad_id", "the id of a repository has 1 to 60 letters, digits, spaces and . _ -, and begins with a letter or a digit")
		}
		one(c, inside, e.value)
	}
}

// hidden is the rule of a text that no message repeats.
func hidden(c *checker, at *where, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || Tag(n) != tagStr {
		c.mind(at, n, "wrong_type", "this must be a text; put it in quotes")
	}
}
