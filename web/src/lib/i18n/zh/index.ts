import type { Dictionary } from '../en'
import app from './app'
import day from './day'
import booking from './booking'
import meeting from './meeting'
import mine from './mine'
import requests from './requests'
import admin from './admin'

const zh: Dictionary = { ...app, ...day, ...booking, ...meeting, ...mine, ...requests, ...admin }

export default zh
