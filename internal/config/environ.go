package config

import (
	"regexp"
	"slices"
	"strings"
)

// productPrefix begins the variables that can only be meant for this program.
const productPrefix = "ATELIER_"

// telemetryPrefix begins the standard variables of OpenTelemetry, which its library reads and checks.
const telemetryPrefix = "OTEL_"

// fromEnviron takes our variables out of the environment. Those of other programs are passed over; one that looks like a
// slip of ours is a problem, because passing it over would start the process with a setting that its operator never chose.
func (l *loader) fromEnviron() layer {
	given := layer{}
	accepted := l.table.accepted()
	services := regexp.MustCompile(servicePattern)
	for name, text := range l.variables() {
		switch {
		case text == "" || name == configVariable:
		case slices.Contains(accepted, name):
			origin := "environment " + name
			given.put(entry{name: name, text: text, origin: origin, where: origin})
		case strings.HasPrefix(name, telemetryPrefix) || isServiceVariable(services, name, text):
		default:
			l.foreign(name, accepted)
		}
	}
	return given
}

// variables splits the environment into names and values. Of a name that occurs twice the first counts, as in the os package.
func (l *loader) variables() map[string]string {
	variables := map[string]string{}
	for _, variable := range l.src.Environ {
		name, text, _ := strings.Cut(variable, "=")
		if _, seen := variables[name]; !seen && name != "" {
			variables[name] = text
		}
	}
	return variables
}

// foreign decides whether a variable that we do not know was meant for us.
func (l *loader) foreign(name string, accepted []string) {
	base, isFile := strings.CutSuffix(name, fileSuffix)
	_, known := l.table.byName(base)
	switch {
	case isFile && known && len(base) >= shortestFuzzy:
		l.problems.add(name, "not a setting; only secrets come from files: set "+base, "environment")
	case strings.HasPrefix(name, productPrefix):
		l.problems.add(oneLine(name), "not a setting"+didYouMean(name, accepted), "environment")
	default:
		if meant := misspelt(name, accepted); meant != "" {
			l.problems.add(oneLine(name), "not a setting; did you mean "+meant+"?", "environment")
		}
	}
}

// servicePattern matches the variables that Kubernetes and container links set for each neighbouring service, such as
// EVENTS_SERVICE_HOST and WORKSPACES_PORT_3002_TCP. A service named atelier yields names with our prefix.
const servicePattern = `_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`

// isServiceVariable also knows EVENTS_PORT=tcp://10.0.0.7:3004 by its value: EVENTS_PORT=3004 was written by a person.
func isServiceVariable(services *regexp.Regexp, name, text string) bool {
	if services.MatchString(name) {
		return true
	}
	scheme, _, found := strings.Cut(text, "://")
	return found && strings.HasSuffix(name, "_PORT") && slices.Contains([]string{"tcp", "udp", "sctp"}, scheme)
}
