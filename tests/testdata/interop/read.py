"""Reads an iCalendar from standard input with python3-icalendar and prints what it says as JSON.

With two days as arguments, such as 20270101 20270201, it prints the dates between them as
python3-recurring-ical-events expands them.
"""

import datetime
import json
import sys

import icalendar
import recurring_ical_events


def utc(value):
    return value.astimezone(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")


calendar = icalendar.Calendar.from_ical(sys.stdin.buffer.read())
if len(sys.argv) == 3:
    days = [datetime.datetime.strptime(day, "%Y%m%d") for day in sys.argv[1:]]
    found = recurring_ical_events.of(calendar).between(*days)
    dates = sorted(utc(e["DTSTART"].dt) + "/" + utc(e["DTEND"].dt) for e in found)
    json.dump(dates, sys.stdout)
    sys.exit()

events = []
for event in calendar.walk("VEVENT"):
    attendees = event.get("ATTENDEE", [])
    if not isinstance(attendees, list):
        attendees = [attendees]
    at = event.get("RECURRENCE-ID")
    events.append({
        "uid": str(event["UID"]),
        "sequence": int(event.get("SEQUENCE", 0)),
        "recurrence_id": utc(at.dt) if at else "",
        "organizer": str(event.get("ORGANIZER", "")),
        "attendees": {str(a).lower().removeprefix("mailto:"): a.params.get("PARTSTAT", "") for a in attendees},
    })
json.dump({"method": str(calendar.get("METHOD", "")), "events": events}, sys.stdout)
