package gitcmd

import (
	"errors"
	"fmt"
	"strings"
)

// word is a part of a command line that the programmer wrote. The type has no name outside this package, so that only
// literals can become one: a variable, which may hold what a user typed, does not compile.
type word string

// Command is a git command line: fixed words, then "--", then values.
type Command struct {
	words  []word
	values []string
	err    error
}

// NewCommand starts a command line from literals: the subcommand and its options.
func NewCommand(subcommand word, options ...word) Command {
	return Command{words: append([]word{subcommand}, options...)}
}

// Values adds what a user or a repository may have chosen, after "--". Values that look like an option are refused when
// the command runs: not every subcommand stops at "--".
func (c Command) Values(values ...string) Command {
	for _, value := range values {
		if err := checkValue(value); err != nil {
			c.err = errors.Join(c.err, err)
		}
	}
	c.values = append(c.values[:len(c.values):len(c.values)], values...)
	return c
}

func checkValue(value string) error {
	switch {
	case value == "":
		return errors.New("a value is empty")
	case value[0] == '-':
		return fmt.Errorf("the value %q begins like an option", value)
	case strings.ContainsRune(value, 0):
		return errors.New("a value holds a zero byte")
	}
	return nil
}

func (c Command) arguments() []string {
	arguments := make([]string, 0, len(c.words)+1+len(c.values))
	for _, w := range c.words {
		arguments = append(arguments, string(w))
	}
	if len(c.values) > 0 {
		arguments = append(append(arguments, "--"), c.values...)
	}
	return arguments
}

// String is the command without its values, which may be private.
func (c Command) String() string {
	if len(c.words) == 0 {
		return "git"
	}
	return "git " + string(c.words[0])
}

// and adds words.
func (c Command) and(words ...word) Command {
	c.words = append(c.words[:len(c.words):len(c.words)], words...)
	return c
}

// option adds an option with a value that was checked: as one word with its name, which ends with "=", it cannot become
// another option.
func (c Command) option(name word, value string) Command {
	if !strings.HasSuffix(string(name), "=") || strings.ContainsAny(value, "\x00\n") {
		c.err = errors.Join(c.err, fmt.Errorf("the value of %s cannot be given", name))
	}
	return c.and(name + word(value))
}
