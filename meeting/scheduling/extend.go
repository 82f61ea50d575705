package scheduling

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/itip"
)

// Roll books the dates of a series that can be booked by now, and declines those that are taken. Its
// next run is a day later.
func (s *Service) Roll(ctx context.Context, x Extension) error {
	return s.Store.Exclusively(ctx, x.UID, func(ctx context.Context) error {
		if now, err := s.Store.Extension(ctx, x.ID); err != nil || now == nil || now.At.After(s.Now()) {
			return err
		}
		e := &event{
			Service: s, conf: s.Settings(), at: s.Now().UTC().Truncate(time.Microsecond), out: &Outcome{}, organizer: x.Organizer,
			object: &itip.Object{UID: x.UID},
		}
		var err error
		if e.known, err = s.Store.KnownEvent(ctx, x.UID, x.Organizer); err != nil {
			return err
		}
		return e.roll(ctx)
	})
}

func (e *event) roll(ctx context.Context) error {
	e.message = Message{Via: e.known.Origin}
	e.record = Record{UID: e.object.UID, Organizer: e.organizer, Via: e.known.Origin, MeetingID: e.known.MeetingID, SeriesID: e.known.SeriesID}
	found, err := e.People.ByEmail(ctx, []string{e.organizer})
	if err != nil {
		return err
	}
	e.person = found[e.organizer]
	e.words = wordsFor(e.person.Locale)
	e.latest = e.known.Instances
	master := e.known.instance("")
	if master == nil || e.person.UserID == 0 || e.record.SeriesID == 0 {
		_, err := e.finish(ctx) // there is nothing to extend
		return err
	}
	if e.object, err = e.merged(); err != nil {
		return err
	}
	if e.by, err = e.actor(ctx, e.object.Head()); err != nil {
		return err
	}
	places, err := e.places(ctx, nil)
	if err != nil {
		return err
	}
	before := slices.Clone(places)
	if err := e.book(ctx, e.object, places); err != nil {
		return err
	}
	for _, p := range before {
		if t := e.known.told("", p.address); t != nil {
			e.message.MessageID = t.MessageID
			e.answerDates(p, master.Version)
		}
	}
	_, err = e.finish(ctx)
	return err
}

// extendJob books the dates of series as they come within reach. The key is the event. It may run twice.
type extendJob struct {
	service *Service
}

func (j *extendJob) Name() string { return meeting.JobExtend }

func (j *extendJob) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 1, MaxRuntime: time.Minute}
}

func (j *extendJob) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		for after := int64(0); ; {
			due, err := j.service.Store.Extended(ctx, w.To, after, page)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, x := range due {
				if !yield(delayjob.Message{Job: j.Name(), Key: strconv.FormatInt(x.ID, 10), Version: x.At.UnixMicro(), Due: x.At}, nil) {
					return
				}
				after = x.ID
			}
			if len(due) < page {
				return
			}
		}
	}
}

func (j *extendJob) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid event key %q", m.Key))
	}
	x, err := j.service.Store.Extension(ctx, id)
	if err == nil && x != nil {
		err = j.service.Roll(ctx, *x)
	}
	return err
}
