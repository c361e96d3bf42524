package app

import (
	"errors"
	"fmt"

	"atelier/internal/config"
	events "atelier/internal/events/service"
	"atelier/internal/readiness"
)

// eventIndex is the index that events are searched with; nil when they are searched in the database.
func (p *parts) eventIndex(deps events.Deps) (*events.Index, error) {
	cfg := p.opts.Config
	if cfg.EventsStorage == "sql" {
		return nil, sqlStorage(cfg)
	}
	namespace := cfg.EventsStorageSpace
	if namespace == "" {
		namespace = cfg.BrokerNamespace
	}
	index, err := events.NewIndex(events.Storage{
		Driver: cfg.EventsStorage, Hosts: cfg.EventsStorageHosts, User: cfg.EventsStorageUser, Password: cfg.EventsStoragePassword.Reveal(),
		Transport: p.trusting(), Namespace: namespace, PerWorkspace: cfg.EventsStorageLayout == "workspace",
		Batch: cfg.EventsFlushAt, Refresh: cfg.EventsFlushEvery, AtOnce: cfg.EventsStorageRefresh,
	}, deps)
	if err != nil {
		return nil, fmt.Errorf("EVENTS_STORAGE_DRIVER=%s: %w", cfg.EventsStorage, err)
	}
	return index, nil
}

// sqlStorage refuses settings of an index that is not used: whoever set them expects one.
func sqlStorage(cfg config.Config) error {
	if cfg.EventsStorageUser != "" || cfg.EventsStoragePassword != "" || cfg.EventsStorageLayout != "shared" || cfg.EventsStorageRefresh {
		return errors.New("EVENTS_STORAGE_DRIVER is sql, but there are settings of an index; set it to elasticsearch or opensearch, or remove EVENTS_STORAGE_ES_*, EVENTS_STORAGE_LAYOUT")
	}
	return nil
}

// indexModules is the index as the readiness of the service shows it.
func indexModules(index *events.Index) []readiness.Module {
	if index == nil {
		return nil
	}
	return []readiness.Module{{Name: "events", Driver: index.Driver(), Check: index.Ping}}
}
