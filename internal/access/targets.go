package access

// Where an event says for whom it is meant.
const (
	targetUser    = "target.userId"
	targetSession = "target.sessionId"
)

// readOwn lets the caller read the events that are meant for it by its account or by its session. Somebody who may
// read no events of a workspace learns nothing by it, not even that there is one.
func (a *Ability) readOwn() {
	if a.caller.Kind != User && a.caller.Kind != Anonymous || !a.readsSome() {
		return
	}
	for _, is := range [...]struct{ path, value string }{{targetUser, a.caller.UserID}, {targetSession, a.caller.SessionID}} {
		if is.value != "" {
			a.readEvents(is.path, is.value, test{op: opEq, value: scalar{kind: isText, text: is.value}})
		}
	}
}

// readsSome tells whether there are events that the caller may read.
func (a *Ability) readsSome() bool {
	for c := range a.candidates(SubjectEvents, false) {
		if !c.rule.inverted && c.rule.covers(ActionRead) {
			return true
		}
	}
	return false
}

// readEvents lets the caller read the events that have something at a path.
func (a *Ability) readEvents(path string, written any, is test) {
	r := &rule{ref: RuleRef{Source: FromGrant}, part: part{actions: []string{ActionRead}, subject: SubjectEvents}}
	r.bounds = compileForced(forced(SubjectEvents, a.workspaceID, false))
	r.written = map[string]any{path: written}
	r.own = conditions{{path: path, tests: []test{is}}}
	if a.granted == nil {
		a.granted = map[string][]*rule{}
	}
	a.granted[SubjectEvents] = append(a.granted[SubjectEvents], r)
}
