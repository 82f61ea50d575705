import type { Dictionary } from '../en'
import app from './app'
import password from './password'
import day from './day'
import grid from './grid'
import booking from './booking'
import reason from './reason'
import repeat from './repeat'
import finder from './finder'
import meeting from './meeting'
import mine from './mine'
import profile from './profile'
import requests from './requests'
import week from './week'
import month from './month'
import admin from './admin'
import door from './door'

const de: Dictionary = { ...app, ...password, ...day, ...grid, ...booking, ...reason, ...repeat, ...finder, ...meeting, ...mine, ...profile, ...requests, ...week, ...month, ...admin, ...door }

export default de
