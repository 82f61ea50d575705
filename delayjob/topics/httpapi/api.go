// Package httpapi serves the topics: jobs of other systems are added, popped, finished and looked at,
// and webhooks set, over HTTP. What a token may do with a topic is checked here.
package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/delayjob/topics"
)

type describe func(id, method, path, summary string, more ...func(*huma.Operation)) huma.Operation

func status(n int) func(*huma.Operation) { return func(o *huma.Operation) { o.DefaultStatus = n } }

func or(ns ...int) func(*huma.Operation) {
	return func(o *huma.Operation) { o.Errors = append(o.Errors, ns...) }
}

// Register adds the operations to the API. The caller comes from [account.FromContext]; rate limits
// the requests of each token.
func Register(api huma.API, s *topics.Service, rate account.Limiter) {
	h := &handlers{s: s}
	limited := huma.Middlewares{limit(api, rate)}
	op := func(id, method, path, summary string, more ...func(*huma.Operation)) huma.Operation {
		o := huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Topics"}, Middlewares: limited,
			Errors: []int{
				http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable,
			},
		}
		for _, m := range more {
			m(&o)
		}
		return o
	}
	h.registerWebhooks(api, op)
	leased := or(http.StatusConflict)
	changes := or(http.StatusNotFound, http.StatusConflict)

	huma.Register(api, op("add-topic-jobs", http.MethodPost, "/topics/{topic}/jobs", "Add a job, or an array of up to 1,000",
		status(http.StatusCreated), or(http.StatusConflict), oneOrMany(api),
		answers[AddedTopicJob](api, http.StatusCreated, "Added"), answers[AddedTopicJob](api, http.StatusOK, "Replaced or already stored; for an array, the result of each job"), orAlso[AddedTopicJobs](api, http.StatusOK)), h.add)
	huma.Register(api, op("list-topic-jobs", http.MethodGet, "/topics/{topic}/jobs", "List the jobs of a topic"), h.listJobs)
	huma.Register(api, op("delete-topic-jobs", http.MethodDelete, "/topics/{topic}/jobs", "Delete the jobs of a topic, up to 10,000 per call"), h.purge)
	huma.Register(api, op("get-topic-job", http.MethodGet, "/topics/{topic}/jobs/{id}", "Get a job and its state", or(http.StatusNotFound)), h.get)
	huma.Register(api, op("reschedule-topic-job", http.MethodPatch, "/topics/{topic}/jobs/{id}", "Change the due time of a job", changes), h.reschedule)
	huma.Register(api, op("delete-topic-job", http.MethodDelete, "/topics/{topic}/jobs/{id}", "Delete a job; 202 if it is running",
		status(http.StatusNoContent), or(http.StatusNotFound), accepted("The job is running and will not be retried")), h.delete)
	huma.Register(api, op("pop-topic-jobs", http.MethodPost, "/topics/{topic}/pop", "Reserve due jobs, waiting for the first one", or(http.StatusConflict)), h.pop)
	huma.Register(api, op("pop-jobs-of-topics", http.MethodPost, "/pop", "Reserve due jobs of several topics", or(http.StatusConflict)), h.popMany)
	huma.Register(api, op("finish-topic-job", http.MethodPost, "/topics/{topic}/jobs/{id}/finish", "Finish a job", status(http.StatusNoContent), leased), h.finish)
	huma.Register(api, op("finish-topic-jobs", http.MethodPost, "/topics/{topic}/finish", "Finish up to 1,000 jobs"), h.finishMany)
	huma.Register(api, op("extend-topic-job", http.MethodPost, "/topics/{topic}/jobs/{id}/extend", "Extend the reservation of a job", leased), h.extend)
	huma.Register(api, op("fail-topic-job", http.MethodPost, "/topics/{topic}/jobs/{id}/fail", "Report that a job failed, to retry it or give up", status(http.StatusNoContent), leased), h.fail)
	huma.Register(api, op("list-topics", http.MethodGet, "/topics", "List the topics that the token can access, with job counts"), h.list)
	huma.Register(api, op("get-topic", http.MethodGet, "/topics/{topic}", "Get the job counts of a topic, and the next hour by minute"), h.stats)
	huma.Register(api, op("pause-topic", http.MethodPost, "/topics/{topic}/pause", "Pause a topic"), h.pause)
	huma.Register(api, op("resume-topic", http.MethodPost, "/topics/{topic}/resume", "Resume a topic"), h.resume)
	huma.Register(api, op("list-dead-topic-jobs", http.MethodGet, "/topics/{topic}/dead", "List dead jobs, newest first"), h.dead)
	huma.Register(api, op("requeue-dead-topic-job", http.MethodPost, "/topics/{topic}/dead/{id}/requeue", "Retry a dead job", status(http.StatusNoContent), changes), h.requeue)
}

func answers[T any](api huma.API, code int, description string) func(*huma.Operation) {
	return func(o *huma.Operation) {
		if o.Responses == nil {
			o.Responses = map[string]*huma.Response{}
		}
		schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
		o.Responses[strconv.Itoa(code)] = &huma.Response{Description: description, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	}
}

func orAlso[T any](api huma.API, code int) func(*huma.Operation) {
	return func(o *huma.Operation) {
		also := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
		media := o.Responses[strconv.Itoa(code)].Content["application/json"]
		media.Schema = &huma.Schema{OneOf: []*huma.Schema{media.Schema, also}}
	}
}

func accepted(description string) func(*huma.Operation) {
	return func(o *huma.Operation) {
		if o.Responses == nil {
			o.Responses = map[string]*huma.Response{}
		}
		o.Responses[strconv.Itoa(http.StatusAccepted)] = &huma.Response{Description: description}
	}
}

// oneOrMany describes a body that is a job or an array of jobs. It is validated by parse, job
// by job.
func oneOrMany(api huma.API) func(*huma.Operation) {
	return func(o *huma.Operation) {
		one := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[newTopicJob](), true, "NewTopicJob")
		o.SkipValidateBody = true
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
			OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: one, MinItems: new(1), MaxItems: new(topics.MaxBatch)}},
		}}}}
	}
}

type handlers struct{ s *topics.Service }

// TopicInput is one topic.
type TopicInput struct {
	Topic string `path:"topic" maxLength:"64" pattern:"^[a-z0-9.-]+$" example:"orders"`
}

// JobInput is one job.
type JobInput struct {
	TopicInput
	ID string `path:"id" maxLength:"128" pattern:"^[A-Za-z0-9._~-]+$"`
}

func (i JobInput) key() topics.Key { return topics.Key{Topic: i.Topic, ID: i.ID} }

// allow is nil if the token reaches one of the scopes for this topic.
func allow(ctx context.Context, topic string, scopes ...account.Scope) error {
	p, ok := account.FromContext(ctx)
	if !ok {
		return account.ErrUnauthorized
	}
	for _, s := range scopes {
		if p.HasScope(s + ":" + account.Scope(topic)) {
			return nil
		}
	}
	return account.ErrForbidden
}

var anything = []account.Scope{account.TopicsProduce, account.TopicsConsume, account.TopicsAdmin}
