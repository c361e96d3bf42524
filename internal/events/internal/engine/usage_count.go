package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"atelier/internal/events/internal/query"
)

// usage is being counted, in the whole period and in each of its steps.
type usage struct {
	period Period
	whole  *tallied
	steps  map[time.Time]*tallied
}

func newUsage(period Period) *usage {
	u := &usage{period: period, whole: newTallied(), steps: map[time.Time]*tallied{}}
	if period.Step != NoStep {
		for at := period.Step.floor(period.From); at.Before(period.To); at = period.Step.next(at) {
			u.steps[at] = newTallied()
		}
	}
	return u
}

func (u *usage) add(d *query.Document) {
	u.whole.add(d)
	if u.period.Step == NoStep {
		return
	}
	if step, ok := u.steps[u.period.Step.floor(d.Stored().Position.Time())]; ok {
		step.add(d)
	}
}

func (u *usage) report(workspaceID string) *Usage {
	report := &Usage{
		WorkspaceID: workspaceID, AfterDate: u.period.From, BeforeDate: u.period.To, Interval: u.period.Step,
		Total: u.whole.metrics(), Apps: u.whole.report(u.period.Details),
	}
	for _, at := range slices.SortedFunc(maps.Keys(u.steps), time.Time.Compare) {
		step := UsageStep{Date: at, Total: u.steps[at].metrics()}
		if u.period.Details {
			step.Apps = u.steps[at].report(true)
		}
		report.Timeseries = append(report.Timeseries, step)
	}
	return report
}

// tallied is the usage in some time.
type tallied struct {
	transactions    map[string]bool
	byTrigger       map[string]map[string]bool
	sessions, users map[string]bool
	apps            map[string]map[string]map[string]float64 // by app, instance and name
}

func newTallied() *tallied {
	return &tallied{
		transactions: map[string]bool{}, byTrigger: map[string]map[string]bool{}, sessions: map[string]bool{}, users: map[string]bool{},
		apps: map[string]map[string]map[string]float64{},
	}
}

func (t *tallied) add(d *query.Document) {
	if d.Stored().Type != triggered {
		t.addCustom(d)
		return
	}
	if id := text(d, "source.correlationId"); id != "" {
		t.transactions[id] = true
		trigger := text(d, "payload.trigger.type")
		if t.byTrigger[trigger] == nil {
			t.byTrigger[trigger] = map[string]bool{}
		}
		t.byTrigger[trigger][id] = true
	}
	if id := text(d, "source.sessionId"); id != "" {
		t.sessions[id] = true
	}
	if id := text(d, "source.userId"); id != "" {
		t.users[id] = true
	}
}

func (t *tallied) metrics() UsageMetrics {
	return UsageMetrics{
		Transactions: len(t.transactions), HTTPTransactions: len(t.byTrigger["endpoint"]), EventTransactions: len(t.byTrigger["event"]),
		ScheduleTransactions: len(t.byTrigger["schedule"]), Sessions: len(t.sessions), Users: len(t.users),
	}
}

// addCustom counts what an app directly in the workspace says: a number is added to what was, {value, action} adds or sets.
func (t *tallied) addCustom(d *query.Document) {
	app, instance := text(d, "source.appSlug"), text(d, "source.appInstanceFullSlug")
	if app == "" || text(d, "source.appInstanceDepth") != "1" {
		return
	}
	given, _ := d.Field("payload.metrics")
	metrics, _ := given.(map[string]any)
	if t.apps[app] == nil {
		t.apps[app] = map[string]map[string]float64{}
	}
	if t.apps[app][instance] == nil {
		t.apps[app][instance] = map[string]float64{}
	}
	custom := t.apps[app][instance]
	for name, metric := range metrics {
		if value, ok := amountOf(metric); ok {
			custom[name] += value
			continue
		}
		object, _ := metric.(map[string]any)
		value, ok := amountOf(object["value"])
		switch {
		case !ok:
		case object["action"] == "set":
			custom[name] = value
		default:
			custom[name] += value
		}
	}
}

// amountOf is a number as it can be counted with.
func amountOf(value any) (float64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(number.String(), 64)
	return n, err == nil
}

// report tells the usage of the apps; that of an app is the sum of its instances.
func (t *tallied) report(details bool) []AppUsage {
	all := make([]AppUsage, 0, len(t.apps))
	for _, slug := range slices.Sorted(maps.Keys(t.apps)) {
		app := AppUsage{Slug: slug, Total: CustomTotals{Custom: map[string]float64{}}}
		for _, instance := range slices.Sorted(maps.Keys(t.apps[slug])) {
			custom := t.apps[slug][instance]
			for name, value := range custom {
				app.Total.Custom[name] += value
			}
			if details {
				app.AppInstances = append(app.AppInstances, AppUsage{Slug: instance, Total: CustomTotals{Custom: custom}})
			}
		}
		all = append(all, app)
	}
	return all
}

// text is the first value at a path as text; empty when there is none.
func text(d *query.Document, path string) string {
	values := d.Values(path)
	if len(values) == 0 {
		return ""
	}
	if number, ok := values[0].(json.Number); ok {
		return number.String()
	}
	found, _ := values[0].(string)
	return found
}
