package expr

// Walk visits a node and everything below it, parents first, from left to right. Where visit returns false it goes no
// deeper.
func Walk(n Node, visit func(Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	switch n := n.(type) {
	case *Variable:
		for _, step := range n.Steps {
			walkAll(step.Parts, visit)
		}
	case *Text:
		walkAll(n.Parts, visit)
	case *Not:
		Walk(n.X, visit)
	case *Exists:
		Walk(n.X, visit)
	case *Chain:
		walkAll(n.Operands, visit)
	case *Regex:
		Walk(n.Source, visit)
	case *Call:
		walkAll(n.Args, visit)
	}
}

func walkAll(nodes []Node, visit func(Node) bool) {
	for _, n := range nodes {
		Walk(n, visit)
	}
}

// Variables returns every variable of an expression, also those that are keys of others, in order.
func Variables(n Node) []*Variable {
	var found []*Variable
	Walk(n, func(n Node) bool {
		switch n := n.(type) {
		case *Variable:
			found = append(found, n)
		case *Call:
			found = append(found, named(n)...)
		}
		return true
	})
	return found
}

// Static returns the leading keys that are written out: secret and x for {{secret.x[{{y}}]}}.
func (v *Variable) Static() []string {
	var keys []string
	for _, step := range v.Steps {
		if step.Parts != nil {
			break
		}
		keys = append(keys, step.Key)
	}
	return keys
}

// Dynamic says that some key of the path comes from data.
func (v *Variable) Dynamic() bool {
	return len(v.Static()) < len(v.Steps)
}
