// The tests that abstract-level has for all stores, on classic-level.
'use strict'

const fs = require('fs')
const os = require('os')
const path = require('path')
const test = require('tape')
const suite = require('abstract-level/test')
const { ClassicLevel } = require('classic-level')

suite({
  test,
  factory (options) {
    const location = fs.mkdtempSync(path.join(os.tmpdir(), 'kit-'))
    return new ClassicLevel(location, options)
  }
})
