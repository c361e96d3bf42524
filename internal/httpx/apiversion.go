package httpx

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"atelier/internal/errs"
)

// Date is a behaviour version, YYYY-MM-DD.
type Date string

// Behaviour is one dated change of behaviour within a major version. Code asks Info.Version.AtLeast before doing the
// newer thing; a client that pins an older date keeps what it was written against.
type Behaviour struct {
	Date    Date
	Changes string
}

// Behaviours lists the dated behaviours, oldest first. The first is the behaviour of the first release.
func Behaviours() []Behaviour {
	return []Behaviour{
		{Date: "2025-01-01", Changes: "The specification as first published."},
	}
}

// AtLeast tells whether the client gets the behaviour introduced on the date.
func (d Date) AtLeast(other Date) bool { return d >= other }

// Generation is a major version of the API.
type Generation struct {
	Name  string
	State State
	Shape Shape
	// Announced is when deprecation was announced; Retires is when the version stops, or stopped.
	Announced, Retires time.Time
	// Notice tells users of a deprecated or retired version what to do.
	Notice string
}

// State is a step of the version lifecycle.
type State string

// The states of specification 3.7.
const (
	Beta       State = "Beta"
	Stable     State = "Stable"
	Deprecated State = "Deprecated"
	Retired    State = "Retired"
)

// Generations lists the major versions.
func Generations() []Generation {
	return []Generation{
		{
			Name: "v1", State: Retired, Shape: ShapeFlat,
			Announced: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), Retires: time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC),
			Notice: "v1 was retired on 2025-12-31; use v2 instead.",
		},
		{Name: "v2", State: Stable, Shape: ShapeFlat},
		{Name: "v3", State: Beta, Shape: ShapeNested},
	}
}

// Versions chooses the API version of a request.
type Versions struct {
	generations []Generation
	behaviours  []Behaviour
	today       func() time.Time
}

// NewVersions returns the chooser over the two tables; behaviours has at least one entry, oldest first.
func NewVersions(generations []Generation, behaviours []Behaviour, today func() time.Time) *Versions {
	return &Versions{generations: generations, behaviours: behaviours, today: today}
}

const (
	headerVersion     = "X-Svc-Api-Version"
	headerVersionUsed = "X-Svc-Api-Version-Used"
	headerDeprecation = "X-Svc-Api-Deprecation"
)

// choose fills in the version and error shape of the request, sets the version headers, and refuses retired versions and
// bad dates.
func (v *Versions) choose(h http.Header, r *http.Request, info *Info) error {
	info.Version = v.behaviours[len(v.behaviours)-1].Date
	generation := v.generation(r.URL.Path)
	if generation != nil && info.Shape != ShapeProblem {
		info.Shape = generation.Shape
	}
	asked, given := r.Header[headerVersion]
	if !given {
		h[headerVersionUsed] = []string{string(info.Version)}
		return v.announce(h, generation)
	}
	used, err := v.resolve(strings.Join(asked, ","))
	if used != "" {
		info.Version = used
	}
	h[headerVersionUsed] = []string{string(info.Version)}
	if announced := v.announce(h, generation); announced != nil {
		return announced
	}
	return err
}

func (v *Versions) generation(path string) *Generation {
	for i := range v.generations {
		name := v.generations[i].Name
		if len(path) > len(name) && path[1:len(name)+1] == name && (len(path) == len(name)+1 || path[len(name)+1] == '/') {
			return &v.generations[i]
		}
	}
	return nil
}

// announce warns users of a deprecated version and turns those of a retired one away.
func (v *Versions) announce(h http.Header, g *Generation) error {
	if g == nil || (g.State != Deprecated && g.State != Retired) {
		return nil
	}
	Deprecation{Since: g.Announced, Sunset: g.Retires, Notice: g.Notice}.set(h)
	if g.State == Retired {
		return errs.New(errs.InvalidRequest, g.Notice).WithStatus(http.StatusGone)
	}
	return nil
}

// Deprecation announces that something is going away: Deprecation (RFC 9745), Sunset (RFC 8594), and the specification's
// own header with a sentence.
type Deprecation struct {
	Since, Sunset time.Time
	Notice        string
}

// Set writes the headers.
func (d Deprecation) Set(h http.Header) { d.set(h) }

func (d Deprecation) set(h http.Header) {
	h.Set(headerDeprecation, d.Notice)
	if !d.Since.IsZero() {
		h.Set("Deprecation", "@"+strconv.FormatInt(d.Since.Unix(), 10))
	}
	if !d.Sunset.IsZero() {
		h.Set("Sunset", d.Sunset.UTC().Format(http.TimeFormat))
	}
}

// resolve gives the behaviour in force on the asked date.
func (v *Versions) resolve(asked string) (Date, error) {
	const layout = "2006-01-02"
	first := v.behaviours[0].Date
	day, err := time.Parse(layout, asked)
	today := v.today().UTC()
	if err != nil || len(asked) != len(layout) || Date(asked) < first || day.After(today) {
		return "", errs.Parameter("X-Svc-API-Version",
			fmt.Sprintf("give a day as YYYY-MM-DD, from %s to today (%s)", first, today.Format(layout)))
	}
	used := first
	for _, b := range v.behaviours {
		if Date(asked).AtLeast(b.Date) {
			used = b.Date
		}
	}
	return used, nil
}
