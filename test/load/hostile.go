package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// What neighbours of a hostile workspace may notice.
const (
	mostSlower     = 2.0
	mostOfHostile  = 1024.0 // MiB
	neighbourRate  = 200    // requests a second
	hostileCallers = 8
	hostileSpan    = 20 * time.Second
)

// bombs are automations that want to take the host down. Each is called again and again.
func bombs() map[string]string {
	return map[string]string{
		"doubling":  `[{"set": {"name": "x", "value": "xxxxxxxxxx"}}, {"repeat": {"until": 100, "do": [{"set": {"name": "x", "value": "{{x}}{{x}}"}}]}}]`,
		"nested":    `[{"set": {"name": "l", "value": [1,2,3,4,5,6,7,8]}}, {"repeat": {"until": 100, "do": [{"set": {"name": "l", "value": ["{{l}}","{{l}}","{{l}}","{{l}}"]}}, {"set": {"name": "t", "value": "{{l}}."}}]}}]`,
		"endless":   `[{"repeat": {"until": 1000000000000, "do": [{"set": {"name": "x", "value": "{{item}}"}}]}}]`,
		"recursion": `[{"recursion": {"x": "{{x}}y"}}]`,
		"fanout":    `[{"repeat": {"until": 1000, "do": [{"emit": {"event": "boom", "payload": {"n": "{{item}}"}}}]}}]`,
		"parallel":  `[{"repeat": {"until": 100000, "batch": {"size": 10000}, "do": [{"set": {"name": "l[]", "value": "{{item}}"}}]}}]`,
		"pattern":   `[{"set": {"name": "t", "value": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}}, {"repeat": {"until": 100000, "do": [{"conditions": {"{{t}} matches regex((a+)+$)": []}}]}}]`,
		"code":      `[{"code.run": {"function": "spin", "parameters": {}}}]`,
		"memory":    `[{"code.run": {"function": "eat", "parameters": {}}}]`,
		"global":    `[{"repeat": {"until": 1000, "do": [{"set": {"name": "global.x[]", "value": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}]}}]`,
		"fetch":     `[{"try": {"do": [{"fetch": {"url": "http://169.254.169.254/"}}]}}, {"try": {"do": [{"fetch": {"url": "http://127.0.0.1:1/"}}]}}]`,
	}
}

// measureHostile measures what neighbours notice of a workspace that runs every bomb in a loop.
func measureHostile(ctx context.Context, binary string, span time.Duration) error {
	dir, err := os.MkdirTemp("", "atelier-hostile-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	product, err := startProduct(ctx, dir, binary)
	if err != nil {
		return err
	}
	defer product.stop()
	good, err := measured(ctx, product)
	if err != nil {
		return err
	}
	evil, err := hostile(ctx, product)
	if err != nil {
		return err
	}
	if _, err := neighbours(ctx, product, good, span/4); err != nil { // warm
		return err
	}
	alone, err := neighbours(ctx, product, good, span)
	if err != nil {
		return err
	}
	beside, most, err := underAttack(ctx, product, good, evil, span)
	if err != nil {
		return err
	}
	fmt.Printf("neighbours alone: p50 %v, p99 %v; beside a hostile workspace: p50 %v, p99 %v\n", at(alone, 50), at(alone, 99), at(beside, 50), at(beside, 99))
	slower := float64(at(beside, 99)) / float64(at(alone, 99))
	fmt.Printf("p99 of neighbours: %.1f times (target: %.1f); most memory: %.0f MiB (target: %.0f MiB)\n", slower, mostSlower, most, mostOfHostile)
	if slower > mostSlower || most > mostOfHostile {
		return errors.New("a hostile workspace disturbs its neighbours")
	}
	return nil
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100].Round(10 * time.Microsecond)
}

func hostile(ctx context.Context, product *process) (string, error) {
	var workspace struct {
		ID string `json:"id"`
	}
	if err := post(ctx, product, "/v2/workspaces", map[string]string{"name": "Hostile"}, &workspace); err != nil {
		return "", err
	}
	err := post(ctx, product, "/v2/workspaces/"+workspace.ID+"/apps", json.RawMessage(`{"appSlug": "Custom Code", "slug": "code", "config": {"functions": {
		"spin": {"language": "nodejs", "parameters": {}, "code": "for(;;){}"}, "eat": {"language": "nodejs", "parameters": {}, "code": "const a=[]; for(;;) a.push(new Array(100000).fill('x'))"}}}}`), nil)
	if err != nil {
		return "", err
	}
	all := bombs()
	for slug, do := range all {
		definition := fmt.Sprintf(`{"name": %q, "slug": %q, "when": {"endpoint": true}, "do": %s}`, slug, slug, do)
		if err := post(ctx, product, "/v2/workspaces/"+workspace.ID+"/automations", json.RawMessage(definition), nil); err != nil {
			return "", err
		}
	}
	again := `{"name": "again", "slug": "again", "when": {"events": ["boom"]}, "do": [{"emit": {"event": "boom", "payload": {}}}, {"emit": {"event": "boom", "payload": {}}}]}`
	return workspace.ID, post(ctx, product, "/v2/workspaces/"+workspace.ID+"/automations", json.RawMessage(again), nil)
}

// neighbours calls an endpoint at a fixed rate and gives how long each call took, sorted. A server that makes callers wait does not
// make them ask less.
func neighbours(ctx context.Context, product *process, workspace string, span time.Duration) ([]time.Duration, error) {
	total := int(span.Seconds() * neighbourRate)
	took, failures := make([]time.Duration, total), make([]error, total)
	ticker := time.NewTicker(time.Second / neighbourRate)
	defer ticker.Stop()
	var wait sync.WaitGroup
	for i := range total {
		<-ticker.C
		wait.Go(func() {
			sent := time.Now()
			failures[i] = product.exchange(ctx, request{method: http.MethodPost, path: "/v2/workspaces/" + workspace + "/webhooks/hello", kind: "application/json", body: []byte(`{"name":"world"}`)}, nil)
			took[i] = time.Since(sent)
		})
	}
	wait.Wait()
	slices.Sort(took)
	return took, errors.Join(failures...)
}

// underAttack measures the neighbours while the hostile workspace does its worst, and the most memory the product took.
func underAttack(ctx context.Context, product *process, good, evil string, span time.Duration) (beside []time.Duration, most float64, err error) {
	attack, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	slugs := make([]string, 0, len(bombs()))
	for slug := range bombs() {
		slugs = append(slugs, slug)
	}
	slices.Sort(slugs)
	for i := range hostileCallers {
		wait.Go(func() {
			for n := i; attack.Err() == nil; n++ {
				_ = product.exchange(attack, request{method: http.MethodPost, path: "/v2/workspaces/" + evil + "/webhooks/" + slugs[n%len(slugs)], kind: "application/json", body: []byte(`{}`)}, nil)
			}
		})
	}
	wait.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); attack.Err() == nil; {
			<-tick.C
			most = max(most, product.memory())
		}
	})
	beside, err = neighbours(ctx, product, good, span)
	stop()
	wait.Wait()
	return beside, most, err
}
