package service_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// found lists the slugs of an answer, sorted.
func (a *answer) found() string {
	a.t.Helper()
	var slugs []string
	for _, item := range a.want(http.StatusOK).at("").([]any) {
		slugs = append(slugs, item.(map[string]any)["slug"].(string))
	}
	slices.Sort(slugs)
	return strings.Join(slugs, " ")
}

// A search looks at what people wrote, in any case and alphabet, and not at how it is stored; a label is a whole one.
func TestSearchingDocuments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.post(at+"/automations", automation("one", "labels", []string{"Blue", "Blue-ish"}, "name", "R&D <x> Été")).want(http.StatusCreated)
		ann.post(at+"/automations", automation("Two", "labels", []string{"other"}, "description", map[string]any{"fr": "ÇA VA", "en": "50%_off"})).want(http.StatusCreated)
		for query, want := range map[string]string{
			"search=autocomplete": "", "search=slug": "", "search=labels": "", `search="`: "", "search={": "", "search=fr": "",
			"search=R&D": "one", "search=r&d <X>": "one", "search=Été": "one", "search=éTÉ": "one", "search=TWO": "Two", "search=ça va": "Two",
			"search=0%_": "Two", "search=%": "Two", "search=bLUE": "one", "search=other": "Two", "search=blue\nblue": "",
			"label=Blue": "one", "label=blue": "", "label=name": "", "label=one": "", "label=ish": "", "label=Blu_": "", "label=%": "",
		} {
			name, value, _ := strings.Cut(query, "=")
			if got := ann.get(at + "/automations?" + name + "=" + url.QueryEscape(value)).found(); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		ann.patch(at+"/automations/one", map[string]any{"name": "Later", "labels": []string{"Green"}}).want(http.StatusOK)
		for query, want := range map[string]string{"search=later": "one", "search=R%26D": "", "label=Green": "one", "label=Blue": ""} {
			if got := ann.get(at + "/automations?" + query).found(); got != want {
				t.Errorf("after a change: %s: %q, want %q", query, got, want)
			}
		}
	})
}

func TestSearchingWorkspaces(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		made := ann.post("/v2/workspaces", map[string]any{"name": "Élan", "slug": "first", "labels": []string{"Prod"}, "description": map[string]any{"fr": "ÇA VA"}}).want(http.StatusCreated)
		ann.post("/v2/workspaces", map[string]any{"name": "Other", "slug": "second", "labels": []string{"Production"}}).want(http.StatusCreated)
		check := func(queries map[string]string) {
			t.Helper()
			for query, want := range queries {
				name, value, _ := strings.Cut(query, "=")
				if got := ann.get("/v2/workspaces?" + name + "=" + url.QueryEscape(value)).found(); got != want {
					t.Errorf("%s: %q, want %q", query, got, want)
				}
			}
		}
		check(map[string]string{
			"labels=prod": "", "labels=Prod": "first", "labels=Production": "second", "labels=Prod,Production": "first second", "labels=Pro_": "",
			"search=Élan": "first", "search=éLAN": "first", "search=ça": "first", "search=fr": "", "search=FIRST": "first", "search=SECOND": "second",
			"name=éLA": "first", "name=other": "second", "name=first": "",
		})
		at := "/v2/workspaces/" + made.text("id")
		ann.patch(at, map[string]any{"name": "Über"}).want(http.StatusOK)
		ann.delete(at).want(http.StatusOK)
		ann.post(at+"/restore", map[string]any{"slug": "third"}).want(http.StatusOK)
		check(map[string]string{"search=élan": "", "search=ÜBER": "third", "name=ÜBER": "third", "search=first": "", "search=third": "third"})
	})
}

// An edit of many documents is listed with the first of them and their number; undoing it takes all of them back.
func TestHistoryOfManyDocuments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		files := []string{"index.yml", "name: Mine\n"}
		for i := range 130 {
			files = append(files, fmt.Sprintf("automations/a%03d.yml", i), "name: a\ndo: []\n")
		}
		ann.bring(at+"/import", pack(files...)).want(http.StatusOK)
		history := ann.get(at + "/history").want(http.StatusOK)
		if n := len(history.at("0.documents").([]any)); n != 100 || history.text("0.documentsCount") != "131" || history.text("0.documents.0.path") != "automations/a000" {
			t.Errorf("%d documents of %s, the first is %s", n, history.text("0.documentsCount"), history.text("0.documents.0.path"))
		}
		one := ann.get(at + "/history?path=automations/a129").want(http.StatusOK)
		if one.text("0.documentsCount") != "1" || one.text("0.documents.0.path") != "automations/a129" {
			t.Errorf("of one document: %s", one.body)
		}
		undone := ann.post(at+"/history/"+history.text("0.revision")+"/undo", nil).want(http.StatusOK)
		if n := len(undone.at("deleted").([]any)); n != 130 {
			t.Errorf("%d documents went", n)
		}
	})
}
