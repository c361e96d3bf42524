package expr

import "fmt"

// Template is a text in which {{variables}} and {% expressions %} stand.
type Template struct {
	Source string
	Parts  []Part
}

// Part is a piece of a template: text, or something that has a value.
type Part struct {
	Text       string // the text, when Node is nil
	Node       Node
	Start, End int // the bytes of the template it covers
}

// Whole returns the one variable or expression that is the whole template: its value keeps its type.
func (t *Template) Whole() (Node, bool) {
	if len(t.Parts) != 1 || t.Parts[0].Node == nil {
		return nil, false
	}
	return t.Parts[0].Node, true
}

// Literal returns the template as it is, when nothing in it has a value.
func (t *Template) Literal() (string, bool) {
	for _, part := range t.Parts {
		if part.Node != nil {
			return "", false
		}
	}
	return t.Source, true
}

// Variables returns every variable of the template, in order.
func (t *Template) Variables() []*Variable {
	var found []*Variable
	for _, part := range t.Parts {
		found = append(found, Variables(part.Node)...)
	}
	return found
}

// ParseTemplate reads a text. What opens but does not close is text. Its errors are *SyntaxError for an expression and
// *PathError for a variable.
func ParseTemplate(text string) (*Template, error) {
	return readTemplate(text, true)
}

// ParseVariables reads a text in which only variables are replaced: expressions stay text, with all that is in them.
func ParseVariables(text string) (*Template, error) {
	return readTemplate(text, false)
}

// item is a piece of a template that is being read.
type item struct {
	node       Node
	start, end int
	depth      int  // levels of variables in variables
	braces     bool // two or more { that may open a variable
}

// templateReader pairs braces from the inside out, in one pass: when }} comes, the nearest {{ before it opens the
// variable, if no other brace stands between them. Variables that are ready then stand between the braces of others as
// parts of their paths. Text that comes from data is never looked at: only the template is.
type templateReader struct {
	text        string
	at          int
	blocks      map[int]int // where expressions start and end
	expressions bool
	items       []item
	open        []int // the items that are braces which may still find their partner
}

func readTemplate(text string, expressions bool) (*Template, error) {
	r := &templateReader{text: text, blocks: findBlocks(text), expressions: expressions}
	for r.at < len(text) {
		if err := r.step(); err != nil {
			return nil, err
		}
	}
	return r.template(), nil
}

// findBlocks pairs {% and %}, also when they are nested, and returns where each pair starts and ends.
func findBlocks(text string) map[int]int {
	var blocks map[int]int
	var open []int
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "{%":
			open = append(open, i)
			i++
		case "%}":
			if n := len(open); n > 0 {
				if blocks == nil {
					blocks = map[int]int{}
				}
				blocks[open[n-1]], open = i+2, open[:n-1]
			}
			i++
		}
	}
	return blocks
}

func (r *templateReader) step() error {
	if end, ok := r.blocks[r.at]; ok {
		return r.block(end)
	}
	switch r.text[r.at] {
	case '{':
		r.opening()
		return nil
	case '}':
		if r.at+1 < len(r.text) && r.text[r.at+1] == '}' && len(r.open) > 0 {
			return r.closing()
		}
		r.stray(r.at + 1)
		return nil
	}
	end := r.at
	for end < len(r.text) && r.text[end] != '{' && r.text[end] != '}' {
		end++
	}
	r.add(end)
	return nil
}

// block takes an expression.
func (r *templateReader) block(end int) error {
	if !r.expressions {
		r.stray(end)
		return nil
	}
	node, err := parseAt(r.text[r.at+2:end-2], r.at+2)
	if err != nil {
		return err
	}
	r.items = append(r.items, item{node: node, start: r.at, end: end})
	r.at = end
	return nil
}

// opening takes braces that stand together. A single one opens nothing.
func (r *templateReader) opening() {
	end := r.at
	for end < len(r.text) && r.text[end] == '{' {
		if _, block := r.blocks[end]; block {
			break
		}
		end++
	}
	if end-r.at == 1 {
		r.stray(end)
		return
	}
	r.open = append(r.open, len(r.items))
	r.items = append(r.items, item{braces: true, start: r.at, end: end})
	r.at = end
}

// stray takes text with a brace that has no partner: no variable can reach over it.
func (r *templateReader) stray(end int) {
	r.open = r.open[:0]
	r.add(end)
}

// add takes text. Pieces that follow each other are one.
func (r *templateReader) add(end int) {
	if n := len(r.items); n > 0 && r.items[n-1].node == nil && !r.items[n-1].braces {
		r.items[n-1].end = end
	} else {
		r.items = append(r.items, item{start: r.at, end: end})
	}
	r.at = end
}

// closing makes a variable of what stands behind the nearest braces.
func (r *templateReader) closing() error {
	opened := r.open[len(r.open)-1]
	variable, err := r.variable(r.items[opened].end-2, r.items[opened+1:])
	if err != nil {
		return err
	}
	r.items = r.items[:opened+1]
	braces := &r.items[opened]
	switch braces.end -= 2; braces.end - braces.start {
	case 0:
		r.items, r.open = r.items[:opened], r.open[:len(r.open)-1]
	case 1:
		braces.braces = false
		r.open = r.open[:0]
	}
	r.items = append(r.items, variable)
	r.at = variable.end
	return nil
}

// variable reads the path between {{ at start and }} at the place.
func (r *templateReader) variable(start int, content []item) (item, error) {
	path := r.text[start+2 : r.at]
	pieces := make([]piece, len(content))
	depth := 0
	for i, it := range content {
		pieces[i] = piece{node: it.node}
		if it.node == nil {
			pieces[i].text = r.text[it.start:it.end]
		}
		depth = max(depth, it.depth)
	}
	if depth >= MaxDepth {
		message := fmt.Sprintf("variables may stand in variables %d levels deep at most", MaxDepth)
		return item{}, &PathError{Path: path, Start: start + 2, Message: message}
	}
	steps, err := readPath(pieces, path, start+2)
	if err != nil {
		return item{}, err
	}
	return item{node: &Variable{At: start, Steps: steps}, start: start, end: r.at + 2, depth: depth + 1}, nil
}

// template puts the pieces together. Braces without a partner are text.
func (r *templateReader) template() *Template {
	t := &Template{Source: r.text}
	for _, it := range r.items {
		n := len(t.Parts)
		switch {
		case it.node != nil:
			t.Parts = append(t.Parts, Part{Node: it.node, Start: it.start, End: it.end})
		case n > 0 && t.Parts[n-1].Node == nil:
			t.Parts[n-1].End = it.end
		default:
			t.Parts = append(t.Parts, Part{Start: it.start, End: it.end})
		}
	}
	for i, part := range t.Parts {
		if part.Node == nil {
			t.Parts[i].Text = r.text[part.Start:part.End]
		}
	}
	return t
}
